/** The worked example of the skill for writing: what it says is what the service takes. */
import { createPrivateKey, sign } from 'node:crypto'
import { readFile } from 'node:fs/promises'

import { expect, test } from 'vitest'
import { z } from 'zod'

import { bodySha256, messages, receiptId, signingText } from '../../../src/auth/messages.ts'
import { verifySignature } from '../../../src/auth/schemes.ts'
import { verifyReceipt } from '../../../src/auth/verify-receipt.ts'
import { parseWallet } from '../../../src/core/wallet.ts'
import { objectFromJsonText } from '../../../src/db/json.ts'
import { handClock, publicDir, sampleDocuments, startService } from '../../support/http-service.ts'

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

test('the JSON of the example is canonical, its text and its signature are what they must be', async () => {
  const [message = '', signature = ''] = fenced('text register').split('\n')
  expect(signingText(registration)).toBe(fenced('json register'))
  const from = { wallet, timestamp, bodySha256: bodySha256(registration) }
  expect(message).toBe(messages.register('agent-income-ledger', from))
  expect(signature).toBe(signed(message))
  const verdict = await verifySignature({ message, signature, wallet: parseWallet(wallet) })
  expect(verdict).toMatchObject({ valid: true })
})

test('the receipt of the example verifies, under the id that it says', async () => {
  const [signature = '', id = ''] = fenced('text receipt').split('\n')
  expect(signingText(receipt)).toBe(fenced('json receipt'))
  expect(signature).toBe(`ed25519:${signed(fenced('json receipt'))}`)
  expect(receiptId(receipt)).toBe(id)
  const { checks } = await verifyReceipt({ ...receipt, worker_signature: signature }, new Map(), id)
  expect(checks.filter(({ good }) => !good)).toEqual([])
})

test('the service takes both as they stand, at the time of the example', async () => {
  const published = await publicDir()
  await published.publish(sampleDocuments)
  const service = await startService(published.dir, { clock: handClock(Date.parse(timestamp)) })
  const send = async (path: string, body: object) => {
    const answer = await fetch(`${service.url}/api/v1${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    return answer.status
  }
  try {
    const [, signature] = fenced('text register').split('\n')
    expect(await send('/workers/register', { ...registration, signature })).toBe(201)
    const [worker_signature] = fenced('text receipt').split('\n')
    const unsigned = { ...receipt, worker_signature, wallet, timestamp, signature: '' }
    const from = { wallet, timestamp, bodySha256: bodySha256(unsigned) }
    const sealed = signed(messages.receipt('agent-income-ledger', from))
    expect(await send('/receipts', { ...unsigned, signature: sealed })).toBe(201)
  } finally {
    await service.stop()
    await published.remove()
  }
})
