import { ConnectionHeldError } from './errors.ts'

/** First come, first served use of one thing. Every `take` that resolved needs exactly one `release`. */
export interface Turn {
  /**
   * @throws ConnectionHeldError when one holder has kept the turn for the whole limit. The waiter then
   *   leaves the queue, so the others are served as soon as the holder lets go.
   */
  readonly take: () => Promise<void>
  readonly release: () => void
}

/**
 * @param limitMs how long one holder may keep everybody waiting. A queue that moves is never refused:
 *   what the limit catches is a holder that waits for itself.
 */
export function createTurn(limitMs: number): Turn {
  let taken = false
  let holder = 0
  const waiting = new Set<() => void>()

  function wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      let holderAtStart = holder
      let timer = setTimeout(expire, limitMs)
      waiting.add(start)

      function start(): void {
        clearTimeout(timer)
        resolve()
      }
      function expire(): void {
        // After a stall of the event loop the holder's answer may be there, unread: let it be read first.
        setImmediate(() => {
          if (!waiting.has(start)) return
          if (holder === holderAtStart) {
            waiting.delete(start)
            reject(heldTooLong(limitMs))
          } else {
            holderAtStart = holder
            timer = setTimeout(expire, limitMs)
          }
        })
      }
    })
  }

  return {
    take: () => {
      if (taken) return wait()
      taken = true
      holder += 1
      return Promise.resolve()
    },
    release: () => {
      for (const next of waiting) {
        waiting.delete(next)
        holder += 1
        next()
        return
      }
      taken = false
    },
  }
}

function heldTooLong(limitMs: number): ConnectionHeldError {
  return new ConnectionHeldError(
    `Waited ${limitMs} ms for the database connection, which one transaction held all the while. ` +
      'Was `db` used inside a transaction instead of `tx`? A query through `db` waits for the transaction to end.',
  )
}
