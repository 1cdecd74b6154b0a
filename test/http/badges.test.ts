import { expect, test } from 'vitest'

import { parseWallet } from '../../src/core/wallet.ts'
import { receiptRow, storeReceipt } from '../support/receipts.ts'
import { documentsOf } from '../support/site.ts'
import { svgElements } from '../support/svg.ts'
import { useService } from '../support/use-service.ts'
import { evmWallet } from '../support/wallets.ts'
import { smallWorld, worldNowMs } from '../support/world.ts'

const service = useService({
  documents: [...documentsOf(smallWorld())],
  publishedAtMs: worldNowMs,
  per: 'file',
})
const get = (badge: string) => fetch(`${service.url}/badges/${badge}.svg`)

test('the badge of a rail is a published document, and of an unknown rail not found', async () => {
  const answer = await get('rails/alpha')
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('image/svg+xml')
  expect(answer.headers.get('x-signature')).toMatch(/^ed25519:/)
  expect(await answer.text()).toContain('paying · 2026-11-21')
  expect((await get('rails/nothing')).status).toBe(404)
})

test('the badge of a worker counts its receipts and cannot run scripts', async () => {
  const worker = evmWallet('worker')
  expect((await get(`workers/${worker.address}`)).status).toBe(404)
  await service.actions.database.write((tx) =>
    storeReceipt(
      tx,
      receiptRow(service.clock.now(), { id: 'rcp_1', to: parseWallet(worker.address) }),
    ),
  )
  const answer = await get(`workers/${worker.id}`)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('cache-control')).toBe('public, max-age=300')
  expect(answer.headers.get('content-security-policy')).toContain('sandbox')
  const svg = await answer.text()
  expect(svg).toMatch(/>1 receipt verified · 2026-11-21</)
  expect(svgElements(svg)[0]).toContain('aria-label')
  expect((await get('workers/nobody')).status).toBe(404)
})
