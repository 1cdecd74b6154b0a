import { describe, expect, it } from 'vitest'

import { createLogAudit } from '../../src/client/log-audit.ts'
import { canonicalize } from '../../src/core/canonical-json.ts'

const sha256 = 'ab'.repeat(32)
const at = (second: number) => `2026-11-01T00:00:0${second}.000Z`
const bytesOf = (entry: object) =>
  Buffer.from(canonicalize({ v: 1, kind: 'reputation', sha256, ...entry }))

const first = { id: 'a', at: at(1), subject: 'ada', prev: null }
const good = [
  first,
  { id: 'b', at: at(1), subject: 'bob', prev: null },
  { id: 'c', at: at(2), subject: 'ada', prev: 0 },
  { id: 'c', at: at(2), kind: 'receipt' },
  { id: 'd', at: at(3), subject: 'ada', prev: 2 },
  { id: 's', at: at(3), kind: 'snapshot', version: 3 },
]

const salt = new Uint8Array(32)

function audited(entries: readonly object[]) {
  const audit = createLogAudit(salt)
  for (const entry of entries) audit.add(bytesOf(entry))
  return audit
}

const settled = (entries: readonly object[], read = () => undefined) =>
  audited(entries).settle((at) => {
    read()
    return Promise.resolve(entries.slice(at * 2, at * 2 + 2).map(bytesOf))
  })

describe('createLogAudit', () => {
  it('the audit of a log accepts entries in order and reads none of them again', async () => {
    const audit = audited(good)
    expect(audit.at()).toBe(at(3))
    await settled(good, () => {
      throw new Error('read again')
    })
  })

  it.each([
    [
      'with a known id',
      { ...first, at: at(4), prev: 4 },
      '(reputation a) has an id that occurred before',
    ],
    [
      'that begins a chain again',
      { id: 'e', at: at(4), subject: 'ada', prev: null },
      '(reputation e) about ada wrongly names none as its predecessor',
    ],
  ])('the audit notices an entry %s when it reads the log again', async (_, entry, reason) => {
    await expect(settled([...good, entry])).rejects.toThrow(`entry 6 ${reason}`)
  })

  it('the audit of a log reports nothing that occurs once when it reads the log again', async () => {
    const repeated = { id: 'c', at: at(3), kind: 'receipt' }
    const entries = [...good, { ...repeated, id: 'e' }].map(bytesOf)
    const audit = audited([...good, repeated])
    await audit.settle(() => Promise.reject(new Error('read again')), 2)
    await expect(audit.settle(() => Promise.resolve(entries))).resolves.toBeUndefined()
    await audit.settle(() => Promise.reject(new Error('read again')))
  })

  it.each([
    [
      'that falls in time',
      { ...first, id: 'e', at: at(2), prev: 4 },
      `(reputation e) has the time ${at(2)}, before ${at(3)} of its predecessor`,
    ],
    [
      'that skips its predecessor',
      { id: 'e', at: at(4), subject: 'ada', prev: 2 },
      '(reputation e) about ada wrongly names 2 as its predecessor',
    ],
    [
      'that names an entry about another subject',
      { id: 'e', at: at(4), subject: 'ada', prev: 1 },
      '(reputation e) about ada wrongly names 1 as its predecessor',
    ],
    [
      'that names no entry',
      { id: 'e', at: at(4), subject: 'ada', prev: 5 },
      '(reputation e) about ada wrongly names 5 as its predecessor',
    ],
    [
      'with a predecessor and no subject',
      { id: 'e', at: at(4), prev: 4 },
      '(reputation e) without a subject wrongly names 4 as its predecessor',
    ],
    [
      'with a version that does not rise',
      { id: 't', at: at(4), kind: 'snapshot', version: 3 },
      '(snapshot t) has the version 3, not above 3 of the manifest before it',
    ],
    [
      'with an unknown member',
      { id: 'e', at: at(4), more: 1 },
      'is not the canonical form of an entry',
    ],
  ])('the audit of a log refuses an entry %s', (_, entry, reason) => {
    const audit = audited(good)
    expect(() => audit.add(bytesOf(entry))).toThrow(`entry 6 ${reason}`)
  })

  it('the audit of a log refuses an entry with the same content in another form', () => {
    const bytes = Buffer.from(`${bytesOf(first).toString()} `)
    expect(() => createLogAudit(salt).add(bytes)).toThrow('entry 0 is not the canonical form')
  })
})
