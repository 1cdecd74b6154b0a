/** Reads of lists on connections of their own, so that no other read waits for a list. */
import { createSemaphore } from '../core/concurrency.ts'
import { ListEndedError } from './errors.ts'
import type { Db } from './schema.ts'

/** @throws ListEndedError after the deadline, which includes the wait, or when `gone` aborts */
export type ReadList = <Result>(
  read: (db: Db) => Promise<Result>,
  gone?: AbortSignal,
) => Promise<Result>

interface ListConnection {
  readonly db: Db
  readonly interrupt: () => void
}

/** With the writer and the reader, these use all four threads of libuv. */
const connections = 2
const defaultDeadlineMs = 2000
/** An interrupt does not reach a statement that still waits for a thread, so it is repeated. */
const interruptEveryMs = 20

/** @param connect opens a connection for the first lists; its owner closes it */
export function createLists(
  connect: () => Promise<ListConnection>,
  deadlineMs = defaultDeadlineMs,
): ReadList {
  const permits = createSemaphore(connections)
  const idle: ListConnection[] = []
  return async (read, gone) => {
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
    let timer = setTimeout(end, deadlineMs)
    gone?.addEventListener('abort', end)
    try {
      refuseEnded()
      await permits.acquire((withdraw) => {
        stop = () => withdraw(new ListEndedError())
        return () => undefined
      })
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
    } catch (error) {
      refuseEnded()
      throw error
    } finally {
      clearTimeout(timer)
      gone?.removeEventListener('abort', end)
    }
  }
}
