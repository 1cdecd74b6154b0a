import { expect, test } from 'vitest'

import { createLog, withFields } from '../src/core/log.ts'
import type { LogLevel } from '../src/core/log.ts'

function logged(level: LogLevel = 'info') {
  const writes: string[] = []
  const deferred: (() => void)[] = []
  const log = createLog({
    level,
    now: () => Date.UTC(2026, 10, 21),
    write: (lines) => writes.push(lines),
    defer: (flush) => deferred.push(flush),
  })
  return { log, writes, deferred }
}

test('a log line is one JSON object with time, level and message first', () => {
  const { log, writes } = logged()
  log.info('built', { rail: 'x402', ms: 12, gone: undefined, none: null })
  log.flush()
  expect(writes).toEqual([
    '{"time":"2026-11-21T00:00:00.000Z","level":"info","message":"built","rail":"x402","ms":12,"none":null}\n',
  ])
})

test('log lines of one tick are written together, errors at once', () => {
  const { log, writes, deferred } = logged()
  log.info('one')
  log.warn('two')
  expect([writes.length, deferred.length]).toEqual([0, 1])
  deferred[0]?.()
  expect(writes[0]?.split('\n')).toHaveLength(3)
  log.info('three')
  log.error('four')
  expect(writes[1]).toContain('four')
  deferred[1]?.()
  expect(writes).toHaveLength(2)
})

test('line breaks in a message or a value cannot start another log line', () => {
  const { log, writes } = logged()
  log.info('a\n{"level":"error"}', { path: '/x\r\n{"forged":true}\u2028' })
  log.flush()
  expect(writes[0]?.trimEnd()).not.toMatch(/[\n\r]/)
})

test('values under the name of a credential are not logged', () => {
  const { log, writes } = logged()
  const names = ['authorization', 'x_partner_signature', 'api_key', 'x-payment', 'token', 'email']
  log.info('a', Object.fromEntries(names.map((name) => [name, 'hunter2'])))
  withFields(log, { password: 'hunter2' }).info('b', { request_id: '1' })
  log.flush()
  expect(writes.join('')).not.toContain('hunter2')
  expect(writes.join('')).toContain('"request_id":"1"')
})

test('fields cannot replace time, level and message of a log line', () => {
  const { log, writes } = logged()
  log.info('true', { message: 'false', level: 'error' })
  log.flush()
  expect(writes[0]).toContain('"level":"info","message":"true"}')
})

test.each([
  ['debug', 4],
  ['info', 3],
  ['warn', 2],
  ['error', 1],
  ['silent', 0],
] as const)('at log level %s %i of four lines are written', (level, count) => {
  const { log, writes } = logged(level)
  log.debug('1')
  log.info('2')
  log.warn('3')
  log.error('4')
  log.flush()
  expect(writes.join('').split('\n').length - 1).toBe(count)
})

test('a very long value is truncated in the log', () => {
  const { log, writes } = logged()
  log.info('a', { reason: 'x'.repeat(100_000) })
  log.flush()
  expect(writes[0]?.length).toBeLessThan(2200)
})
