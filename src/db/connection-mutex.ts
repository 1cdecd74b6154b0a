import { createSemaphore } from '../core/concurrency.ts'
import { ConnectionHeldError } from './errors.ts'

/** Exclusive use of one connection in FIFO order. Each resolved `acquire` needs one `release`. */
export interface ConnectionMutex {
  /** @throws ConnectionHeldError if one holder exceeds the limit */
  readonly acquire: () => Promise<void>
  readonly release: () => void
}

/** @param limitMs limit for one holder, to detect one that waits for itself; the queue has no limit */
export function createConnectionMutex(limitMs: number): ConnectionMutex {
  const mutex = createSemaphore(1)
  return {
    acquire: () =>
      mutex.acquire((withdraw) => {
        let grantsAtStart = mutex.grants()
        let hasEnded = false
        const expire = (): void => {
          // After a stall of the event loop, the holder's unread result is processed first.
          setImmediate(() => {
            if (hasEnded) return
            if (mutex.grants() === grantsAtStart) {
              withdraw(heldTooLong(limitMs))
            } else {
              grantsAtStart = mutex.grants()
              timer = setTimeout(expire, limitMs)
            }
          })
        }
        let timer = setTimeout(expire, limitMs)
        return () => {
          hasEnded = true
          clearTimeout(timer)
        }
      }),
    release: mutex.release,
  }
}

function heldTooLong(limitMs: number): ConnectionHeldError {
  return new ConnectionHeldError(
    `Waited ${limitMs} ms for the database connection, which one transaction held during this time. ` +
      'Was `db` used inside a transaction instead of `tx`? A query through `db` waits for the transaction to end.',
  )
}
