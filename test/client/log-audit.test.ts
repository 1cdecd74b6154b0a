import { describe, expect, it } from 'vitest'

import { WrongEntryError, createLogAudit, logAuditState } from '../../src/client/log-audit.ts'
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

function audited(entries: readonly object[]) {
  const audit = createLogAudit()
  for (const entry of entries) audit.add(bytesOf(entry))
  return audit
}

describe('createLogAudit', () => {
  it('accepts entries in order and continues from its state', () => {
    const audit = audited(good)
    expect([audit.size(), audit.at()]).toEqual([6, at(3)])

    const state = logAuditState.parse(JSON.parse(JSON.stringify(audited(good.slice(0, 2)))))
    const continued = createLogAudit(state)
    for (const entry of good.slice(2)) continued.add(bytesOf(entry))
    expect(continued.toJSON()).toEqual(audit.toJSON())
  })

  it.each([
    [
      'that falls in time',
      { ...first, id: 'e', at: at(2), prev: 4 },
      `(reputation e) has the time ${at(2)}, before ${at(3)} of its predecessor`,
    ],
    [
      'with a known id',
      { ...first, at: at(4), prev: 4 },
      '(reputation a) has an id that occurred before',
    ],
    [
      'that skips its predecessor',
      { id: 'e', at: at(4), subject: 'ada', prev: 2 },
      '(reputation e) about ada names 2 as the one before it, not 4',
    ],
    [
      'that begins a chain again',
      { id: 'e', at: at(4), subject: 'ada', prev: null },
      '(reputation e) about ada names none as the one before it, not 4',
    ],
    [
      'with a predecessor and no subject',
      { id: 'e', at: at(4), prev: 4 },
      '(reputation e) without a subject names 4 as the one before it, not none',
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
  ])('refuses an entry %s and stays as it was', (_, entry, reason) => {
    const audit = audited(good)
    expect(() => audit.add(bytesOf(entry))).toThrow(new WrongEntryError(6, reason))
    expect(audit.toJSON()).toEqual(audited(good).toJSON())
  })

  it('refuses bytes that say the same in another form', () => {
    const bytes = Buffer.from(`${bytesOf(first).toString()} `)
    expect(() => createLogAudit().add(bytes)).toThrow('entry 0 is not the canonical form')
  })
})
