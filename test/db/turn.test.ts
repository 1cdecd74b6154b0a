import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { ConnectionHeldError } from '../../src/db/errors.ts'
import { createTurn } from '../../src/db/turn.ts'
import type { Turn } from '../../src/db/turn.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** Takes a turn and tells how that went so far. */
function taking(turn: Turn): { readonly state: () => string } {
  let state = 'waiting'
  turn.take().then(
    () => (state = 'taken'),
    (error: unknown) => (state = error instanceof ConnectionHeldError ? 'refused' : 'failed'),
  )
  return { state: () => state }
}

test('turns are given in the order in which they were asked for', async () => {
  const turn = createTurn(1000)
  const takers = [taking(turn), taking(turn), taking(turn)]
  for (const taken of [1, 2, 3]) {
    await vi.advanceTimersByTimeAsync(10)
    expect(takers.filter((taker) => taker.state() === 'taken')).toHaveLength(taken)
    expect(takers[taken - 1]?.state()).toBe('taken')
    turn.release()
  }
})

test('a holder that keeps the turn over the limit has those refused that wait, and only those', async () => {
  const turn = createTurn(1000)
  const [holder, early] = [taking(turn), taking(turn)]
  await vi.advanceTimersByTimeAsync(600)
  const late = taking(turn)
  await vi.advanceTimersByTimeAsync(500)
  expect([holder.state(), early.state(), late.state()]).toEqual(['taken', 'refused', 'waiting'])
  turn.release()
  await vi.advanceTimersByTimeAsync(1)
  expect(late.state()).toBe('taken')
  turn.release()
  expect(vi.getTimerCount()).toBe(0)
})

test('a queue that moves refuses nobody, however long it is', async () => {
  const turn = createTurn(1000)
  taking(turn)
  const takers = Array.from({ length: 10 }, () => taking(turn))
  for (const taker of takers) {
    await vi.advanceTimersByTimeAsync(900)
    expect(taker.state()).toBe('waiting')
    turn.release()
    await vi.advanceTimersByTimeAsync(0)
    expect(taker.state()).toBe('taken')
  }
})

test('one who waits in a queue that moves is still refused when a later holder keeps the turn', async () => {
  const turn = createTurn(1000)
  const [, second, third] = [taking(turn), taking(turn), taking(turn)]
  await vi.advanceTimersByTimeAsync(900)
  turn.release()
  await vi.advanceTimersByTimeAsync(900)
  expect([second.state(), third.state()]).toEqual(['taken', 'waiting'])
  await vi.advanceTimersByTimeAsync(300)
  expect(third.state()).toBe('refused')
})

test('a turn that was given back and is asked for by nobody is free at once', async () => {
  const turn = createTurn(1000)
  await turn.take()
  turn.release()
  await turn.take()
  const next = taking(turn)
  turn.release()
  await vi.advanceTimersByTimeAsync(0)
  expect(next.state()).toBe('taken')
})
