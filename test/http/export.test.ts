import { expect, test } from 'vitest'

import { sha256Hex } from '../../src/auth/messages.ts'
import { createDocumentStore } from '../../src/http/document-store.ts'
import { gate } from '../db/temp-database.ts'
import { handClock, jsonDocument } from '../support/http-service.ts'
import { quietLog } from '../support/quiet-log.ts'
import { collect, statusCounts } from '../support/requests.ts'
import { useServices } from '../support/use-service.ts'

const content = 'id\n1\n'
const path = '/export/receipts.csv'
const file = {
  path,
  content_type: 'text/csv',
  rows: 1,
  size: content.length,
  sha256: sha256Hex(content),
}
const list = { as_of: '2026-11-21T05:00:00.000Z', set_version: 1, files: [file] }
const services = useServices([jsonDocument('/export.json', list)])

const DOWNLOADS = 64
const OF_A_NETWORK = 4
const TOO_MANY = 3

test('one network has 4 downloads of the export, which last until all bytes are sent, and all networks have 64', async () => {
  const held = gate()
  const getFile = async () => {
    await held.opened
    return { bytes: Buffer.from(content) }
  }
  const source = { ...services.published.source, getFile }
  const store = createDocumentStore({ source, clock: handClock(), log: quietLog })
  await store.reload()
  const service = await services.start({ store, limits: 'on', trustedProxies: ['127.0.0.1'] })
  const download = async (address: string) => {
    const headers = { 'X-Forwarded-For': address }
    const answer = await fetch(service.url + path, { headers })
    return { status: answer.status, text: await answer.text() }
  }
  const own = collect(OF_A_NETWORK + TOO_MANY, () => download('198.51.100.1'))
  await expect.poll(() => own.answers.length).toBe(TOO_MANY)
  const others = collect(DOWNLOADS - OF_A_NETWORK + TOO_MANY, (at) => download(`203.0.113.${at}`))
  await expect.poll(() => others.answers.length).toBe(TOO_MANY)
  expect(statusCounts([...own.answers, ...others.answers])).toEqual({ 503: 2 * TOO_MANY })
  held.open()
  await Promise.all([own.all, others.all])
  expect(statusCounts(own.answers)).toEqual({ 200: OF_A_NETWORK, 503: TOO_MANY })
  expect(statusCounts(others.answers)).toEqual({ 200: DOWNLOADS - OF_A_NETWORK, 503: TOO_MANY })
  expect(await download('198.51.100.1')).toEqual({ status: 200, text: content })
})
