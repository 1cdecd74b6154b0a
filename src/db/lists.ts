/** Reads of lists on separate connections, so that no other read waits for a list. */
import { createSemaphore } from '../core/concurrency.ts'
import type { OnWait, Semaphore } from '../core/concurrency.ts'
import { ListEndedError } from './errors.ts'
import type { Db } from './schema.ts'

/** Each network reads one list at a time, as do all reads without a `ListReader` together. */
export interface ListReader {
  readonly gone: AbortSignal
  /** Null without a limit. */
  readonly network: number | null
}

/** @throws ListEndedError after the deadline, which includes the wait, or when the reader has disconnected */
export type ReadList = <Result>(
  read: (db: Db) => Promise<Result>,
  reader?: ListReader,
) => Promise<Result>

interface ListConnection {
  readonly db: Db
  readonly interrupt: () => void
}

/** With the writer and the reader, these use all four threads of libuv. */
const connections = 2
const defaultDeadlineMs = 2000
/** The pause after a list of a network, as a multiple of its time, so that a network takes a quarter of a thread. */
const pauseFactor = 3
/** An interrupt does not reach a statement that still waits for a thread, so it is repeated. */
const interruptEveryMs = 20

/** @param connect opens a connection for the first lists; its owner closes it */
export function createLists(
  connect: () => Promise<ListConnection>,
  deadlineMs = defaultDeadlineMs,
): ReadList {
  const permits = createSemaphore(connections)
  const turns = new Map<number | undefined, Semaphore>()
  const idle: ListConnection[] = []

  /** The lists of one network wait here, so that each network has at most one in the queue of all. */
  const inTurn = async <Result>(
    reader: ListReader | undefined,
    onWait: OnWait,
    work: (begin: () => void) => Promise<Result>,
  ): Promise<Result> => {
    const network = reader?.network
    if (network === null) return await work(() => undefined)
    const turn = turns.get(network) ?? createSemaphore(1)
    turns.set(network, turn)
    await turn.acquire(onWait)
    let startedMs = Number.POSITIVE_INFINITY
    const begin = (): void => {
      startedMs = performance.now()
    }
    try {
      return await work(begin)
    } finally {
      setTimeout(
        () => {
          turn.release()
          if (turn.active() === 0) turns.delete(network)
        },
        Math.max(0, performance.now() - startedMs) * pauseFactor,
      ).unref()
    }
  }

  return async (read, reader) => {
    const gone = reader?.gone
    let hasEnded = gone?.aborted === true
    let stop = (): void => undefined
    const refuseEnded = (): void => {
      if (hasEnded) throw new ListEndedError()
    }
    const end = (): void => {
      if (hasEnded) return
      hasEnded = true
      stop()
    }
    const onWait: OnWait = (withdraw) => {
      stop = () => withdraw(new ListEndedError())
      return () => undefined
    }
    let timer = setTimeout(end, deadlineMs)
    gone?.addEventListener('abort', end)
    try {
      refuseEnded()
      return await inTurn(reader, onWait, async (begin) => {
        refuseEnded()
        await permits.acquire(onWait)
        begin()
        try {
          const connection = idle.pop() ?? (await connect())
          stop = () => {
            connection.interrupt()
            timer = setTimeout(stop, interruptEveryMs)
          }
          try {
            refuseEnded()
            return await read(connection.db)
          } finally {
            idle.push(connection)
          }
        } finally {
          permits.release()
        }
      })
    } catch (error) {
      refuseEnded()
      throw error
    } finally {
      clearTimeout(timer)
      gone?.removeEventListener('abort', end)
    }
  }
}
