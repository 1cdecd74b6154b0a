/** The worked example of the skill for writing: the service accepts it as printed. */
import { createPrivateKey, sign } from 'node:crypto'
import { readFile } from 'node:fs/promises'

import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { bodySha256, messages, receiptId, signingText } from '../../../src/auth/messages.ts'
import { verifySignature } from '../../../src/auth/schemes.ts'
import { verifyReceipt } from '../../../src/auth/verify-receipt.ts'
import { parseWallet } from '../../../src/core/wallet.ts'
import { objectFromJsonText } from '../../../src/db/json.ts'
import { handClock } from '../../support/http-service.ts'
import { useService } from '../../support/use-service.ts'

const skill = await readFile('data/agent-skills/register-and-earn/SKILL.md', 'utf8')

function fenced(kind: string): string {
  const found = new RegExp(`\`\`\`${kind}\\n([\\s\\S]*?)\\n\`\`\``).exec(skill)?.[1]
  if (found === undefined) throw new Error(`no ${kind} in the skill`)
  return found
}

const [seed = '', wallet = ''] = fenced('text').split('\n')
const pkcs8 = Buffer.from(`302e020100300506032b657004220420${seed}`, 'hex')
const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
const signed = (text: string) => sign(null, Buffer.from(text), key).toString('base64')
const registration = objectFromJsonText(fenced('json register'))
const receipt = objectFromJsonText(fenced('json receipt'))
const timestamp = z.string().parse(registration['timestamp'])

test('the registration of the example has canonical JSON, the right message and a valid signature', async () => {
  const [message = '', signature = ''] = fenced('text register').split('\n')
  expect(signingText(registration)).toBe(fenced('json register'))
  const from = { wallet, timestamp, bodySha256: bodySha256(registration) }
  expect(message).toBe(messages.register('agent-income-ledger', from))
  expect(signature).toBe(signed(message))
  const verdict = await verifySignature({ message, signature, wallet: parseWallet(wallet) })
  expect(verdict).toMatchObject({ valid: true })
})

test('the receipt of the example verifies under the printed id', async () => {
  const [signature = '', id = ''] = fenced('text receipt').split('\n')
  expect(signingText(receipt)).toBe(fenced('json receipt'))
  expect(signature).toBe(`ed25519:${signed(fenced('json receipt'))}`)
  expect(receiptId(receipt)).toBe(id)
  const submitted = { ...receipt, worker_signature: signature }
  const { checks } = await verifyReceipt(submitted, new Map(), id)
  expect(checks.filter(({ good }) => !good)).toEqual([])
})

describe('the service', () => {
  const service = useService({ options: () => ({ clock: handClock(Date.parse(timestamp)) }) })

  test('the service accepts registration and receipt of the example at its time', async () => {
    const [, signature] = fenced('text register').split('\n')
    const register = { ...registration, signature }
    expect((await service.postJson('/api/v1/workers/register', register)).status).toBe(201)
    const [worker_signature] = fenced('text receipt').split('\n')
    const unsigned = { ...receipt, worker_signature, wallet, timestamp, signature: '' }
    const from = { wallet, timestamp, bodySha256: bodySha256(unsigned) }
    const sealed = signed(messages.receipt('agent-income-ledger', from))
    const body = { ...unsigned, signature: sealed }
    expect((await service.postJson('/api/v1/receipts', body)).status).toBe(201)
  })
})
