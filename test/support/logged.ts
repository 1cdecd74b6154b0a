/** What a reader of the API finds in the log. */
import { expect } from 'vitest'
import { z } from 'zod'

import { sha256Hex } from '../../src/auth/messages.ts'
import { alertFeed } from '../../src/contract/schemas/alert.ts'
import { receipt, receiptDetail } from '../../src/contract/schemas/receipt.ts'
import { reputation } from '../../src/contract/schemas/reputation.ts'
import { canonicalize } from '../../src/core/canonical-json.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import { flagView, listClosedFlags, listOpenFlags } from '../../src/db/flags.ts'
import { findPartner } from '../../src/db/partners.ts'
import type { Service } from './http-service.ts'
import { makePartner, partnerClient } from './partners.ts'
import { requestJson } from './requests.ts'
import { nearWallet } from './wallets.ts'

export async function queued(service: Pick<Service, 'actions'>) {
  const { reader } = service.actions.database
  const rows = await reader.selectFrom('log_queue').selectAll().orderBy('seq').execute()
  return rows.map(({ kind, sha256, subject, extra }) => ({ kind, sha256, subject, extra }))
}

/** Expects an entry for each fact that the API shows, with its hash and subject, and no other entry of the ledger of wallets. */
export async function expectLogged(service: Service): Promise<void> {
  const hash = (value: unknown) => sha256Hex(canonicalize(value))
  const reader = nearWallet('reader')
  if ((await findPartner(service.actions.database.reader, { handle: 'reader' })) === null) {
    await makePartner(service, reader, { handle: 'reader' })
  }
  const read = async (path: string) => (await partnerClient(service, reader)('GET', path)).body
  const shown: { kind: string; sha256: string; subject: string | null }[] = []
  const list = await requestJson(service, '/api/v1/receipts?limit=200', {})
  const rows = z.object({ receipts: z.array(z.looseObject({})) }).parse(list.body).receipts
  // Rows that a test has inserted have other ids.
  const receipts = rows.flatMap((row) => receipt.safeParse(row).data ?? [])
  for (const { receipt_id: id } of receipts) {
    const answer = await requestJson(service, `/api/v1/receipts/${id}`, {})
    const { content, onchain } = receiptDetail.parse(answer.body)
    shown.push({ kind: 'receipt', sha256: hash(content), subject: null })
    if (onchain !== undefined && onchain.verdict !== 'unchecked') {
      shown.push({ kind: 'check', sha256: hash({ receipt_id: id, ...onchain }), subject: null })
    }
  }
  for (const wallet of new Set(receipts.map(({ to_wallet }) => to_wallet))) {
    const { entries } = reputation.parse(await read(`/api/v1/reputation/${wallet}?limit=200`))
    for (const { seq: _, ...entry } of entries) {
      shown.push({ kind: 'reputation', sha256: hash(entry), subject: parseWallet(wallet).id })
    }
  }
  const { events } = alertFeed.parse(await read('/api/v1/alerts/feed?limit=200'))
  for (const event of events.filter(({ kind }) => kind === 'rail_transition')) {
    shown.push({ kind: 'transition', sha256: hash(event), subject: event.rail })
  }
  const { reader: db } = service.actions.database
  for (const flag of [...(await listOpenFlags(db)), ...(await listClosedFlags(db, 200))]) {
    const { closed_at: _, close_reason: _reason, ...opened } = flagView(flag)
    for (const view of [opened, flagView(flag)])
      shown.push({ kind: 'flag', sha256: hash(view), subject: flag.rail })
  }
  const entries = (await queued(service)).map(({ extra: _, ...entry }) => entry)
  expect(entries).toEqual(expect.arrayContaining(shown))
  const wallets = (rows: readonly { kind: string }[]) =>
    rows.filter((row) => row.kind === 'reputation')
  expect(wallets(entries)).toHaveLength(wallets(shown).length)
}
