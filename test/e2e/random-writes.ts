/** One write of every kind that changes published documents. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { Transaction } from 'kysely'
import { z } from 'zod'

import { loadAuthoredRails } from '../../builder/world/authored-rails.ts'
import { stateOf, toStateRow, toStored } from '../../builder/world/stored-rails.ts'
import { pactEscrow } from '../../src/core/pact/escrow.ts'
import { PERIOD_MS, extended } from '../../src/core/partner.ts'
import { dayMs, hourOf, isoTime } from '../../src/core/time.ts'
import { appendEvent } from '../../src/db/events.ts'
import { decideProposal } from '../../src/db/feedback.ts'
import { closeFlag, openFlag } from '../../src/db/flags.ts'
import { putBid, awardBid, insertJob, transitionJob } from '../../src/db/jobs/jobs.ts'
import { setMeta } from '../../src/db/meta.ts'
import { putName } from '../../src/db/names.ts'
import { saveReading } from '../../src/db/pacts.ts'
import {
  findPartner,
  moveAttestation,
  updateProfile,
  setSubscription,
} from '../../src/db/partners.ts'
import type { PartnerRecord } from '../../src/db/partners.ts'
import { insertReceipt } from '../../src/db/receipts/receipts.ts'
import { insertNumbered, insertRecord, putRecord } from '../../src/db/records.ts'
import { grantReceipt } from '../../src/db/reputation.ts'
import { finishRun, startRun } from '../../src/db/runs.ts'
import type { Database } from '../../src/db/schema.ts'
import { addViews } from '../../src/db/views.ts'
import { putWorker } from '../../src/db/workers.ts'
import { figures } from '../support/figures.ts'
import { insertTestPartner } from '../support/partners.ts'
import { receiptRow } from '../support/receipts.ts'

/** `n` is unique. Creates the rows that it changes. */
export type Write = (tx: Transaction<Database>, n: number, nowMs: number) => Promise<unknown>

const wallet = (n: number) => {
  const id = `0x${n.toString(16).padStart(40, '0')}`
  return { id, display: id, kind: 'evm' } as const
}
const flagKey = { kind: 'self_dealing', rail: 'x402', subject: 'x402' } as const
const receiptIdOf = (n: number) => `rcp_${n.toString(16).padStart(64, '0')}`
const jobIdOf = (n: number) => `job_${n.toString(16).padStart(24, '0')}`

const addReceipt: Write = (tx, n, nowMs) =>
  insertReceipt(
    tx,
    receiptRow(nowMs, {
      id: receiptIdOf(n),
      from: wallet(n + 1),
      to: wallet(n % 3),
      amountMicroUsdc: 1_000_000 * n,
      summary: `Work ${n}`,
      submitter: wallet(n % 3).id,
      verification: 'unverified',
    }),
  )

async function partner(tx: Transaction<Database>, nowMs: number): Promise<PartnerRecord> {
  const found = await findPartner(tx, { wallet: wallet(1).id })
  return found ?? (await insertTestPartner(tx, { handle: 'first', wallet: wallet(1) }, nowMs))
}

async function postJob(tx: Transaction<Database>, n: number, nowMs: number) {
  await insertJob(tx, {
    id: jobIdOf(n),
    poster: wallet(1),
    title: `Job ${n}`,
    description: 'Work.',
    skills: ['api-reference-writing'],
    budgetMicroUsdc: 1_000_000 * n,
    deadlineMs: nowMs + 3 * dayMs,
    now: isoTime(nowMs),
  })
  return jobIdOf(n)
}

function move(event: 'bid' | 'award' | 'cancel', status: 'open' | 'awarded' | 'cancelled') {
  return (nowMs: number) =>
    ({
      event,
      role: 'poster',
      actor: wallet(1).id,
      statusAfter: status,
      note: null,
      createdAt: isoTime(nowMs),
    }) as const
}

async function bidOn(tx: Transaction<Database>, n: number, nowMs: number) {
  const jobId = await postJob(tx, n, nowMs)
  const terms = { priceMicroUsdc: 500_000, etaHours: 1, proposal: `Bid ${n}.` }
  const id = `bid_${n.toString(16).padStart(24, '0')}`
  await putBid(tx, { id, jobId, bidder: wallet(2), terms, now: isoTime(nowMs) })
  const job = { id: jobId, status: 'open' } as const
  await transitionJob(tx, job, move('bid', 'open')(nowMs), { bidsCount: 1 })
  return { job, bid: id }
}

const anyObject = z.looseObject({})

export function documentWrites(dataDir: string, rails: readonly string[]) {
  const edit = (name: string, change: (json: z.infer<typeof anyObject>) => object) => {
    const file = join(dataDir, name)
    const json = anyObject.parse(JSON.parse(readFileSync(file, 'utf8')))
    writeFileSync(file, JSON.stringify(change(json)))
    return Promise.resolve()
  }
  const append = (name: string, text: string) => {
    appendFileSync(join(dataDir, name), text)
    return Promise.resolve()
  }
  return {
    receipt: addReceipt,
    verdict: (tx) => tx.updateTable('receipts').set({ verification: 'verified' }).execute(),
    worker: (tx, n, nowMs) =>
      putWorker(tx, {
        wallet: wallet(n % 3),
        displayName: `Worker ${n}`,
        skills: ['api-reference-writing'],
        url: null,
        bio: null,
        receiptKey: null,
        agent: null,
        now: isoTime(nowMs),
      }),
    poll: async (tx, n, nowMs) => {
      const rail = rails[n % rails.length] ?? ''
      const authored = (await loadAuthoredRails(join(dataDir, 'rails'))).find(
        (each) => each.rail === rail,
      )
      if (authored === undefined) throw new Error(`no rail ${rail}`)
      const read30d = figures({ tpv30dMicroUsdc: 1_000_000 * n })
      const measurement = { figures: read30d, removed30d: {}, notes: [] }
      const pollId = await insertNumbered(
        tx,
        'polls',
        {
          rail,
          startedAt: isoTime(nowMs),
          durationMs: n,
          outcome: 'ok',
          error: null,
          figures: toStored(measurement, {}),
          evidence: { pointers: [] },
          rule: 'test v1',
          bundle: null,
          statusAfter: 'paying',
        },
        'id',
      )
      const state = { ...stateOf(authored, undefined), ...measurement, status: 'paying' } as const
      const read = { figuresSource: 'poll', figuresAsOfMs: nowMs, lastGoodPollAtMs: nowMs } as const
      await putRecord(
        tx,
        'rail_state',
        toStateRow({ ...state, ...read, lastPollAtMs: nowMs }, pollId),
        'rail',
      )
    },
    event: (tx, n, nowMs) =>
      appendEvent(tx, {
        id: `evt_${n}`,
        kind: 'rail_transition',
        rail: 'x402',
        severity: 'info',
        title: `Event ${n}`,
        data: { from: 'dormant', to: 'paying' },
        createdAt: isoTime(nowMs),
      }),
    'flag opened': (tx, n, nowMs) =>
      openFlag(tx, {
        ...flagKey,
        id: `flag_${n}`,
        severity: 'warning',
        title: `Flag ${n}`,
        evidence: { n },
        openedAt: isoTime(nowMs),
      }),
    'flag closed': (tx, _n, nowMs) => closeFlag(tx, flagKey, isoTime(nowMs), 'Resolved.'),
    views: (tx, n, nowMs) =>
      addViews(tx, [{ slug: 'five-statuses', hour: hourOf(nowMs), views: n }]),
    run: async (tx, n, nowMs) => {
      const run = await startRun(tx, 'poll', isoTime(nowMs))
      const end = { finishedAt: isoTime(nowMs + n), outcome: 'ok', detail: `Run ${n}` } as const
      await finishRun(tx, run, end)
    },
    'entry of the ledger': async (tx, n, nowMs) => {
      await addReceipt(tx, n, nowMs)
      await grantReceipt(tx, {
        wallet: wallet(n % 3),
        receiptId: receiptIdOf(n),
        payer: wallet(9).id,
        amountMicroUsdc: 1_000_000 * n,
        chain: null,
        txHash: null,
        evidence: 8,
        reason: 'A test.',
        now: isoTime(nowMs),
      })
    },
    'name that looks like another': async (tx, n, nowMs) => {
      const now = isoTime(nowMs)
      await putName(tx, { wallet: wallet(n % 3).id, kind: 'worker', name: 'Orion', now })
      await putName(tx, { wallet: wallet((n + 1) % 3).id, kind: 'worker', name: '0rion', now })
    },
    claim: (tx, n, nowMs) =>
      insertRecord(tx, 'claims', {
        wallet: wallet(1000 + n).id,
        displayName: `Claim ${n}`,
        method: 'wallet',
        emailHash: null,
        claimedAt: isoTime(nowMs),
      }),
    'partner who signs up': (tx, n, nowMs) =>
      insertTestPartner(tx, { handle: `partner-${n}`, wallet: wallet(2000 + n) }, nowMs),
    'profile of a partner': async (tx, n, nowMs) => {
      const { handle, ...profile } = await partner(tx, nowMs)
      await updateProfile(tx, handle, { ...profile, bioShort: `Words ${n}.`, now: isoTime(nowMs) })
    },
    'endpoint of a partner': async (tx, n, nowMs) => {
      const found = await partner(tx, nowMs)
      const { attestationWallet, attestationOathSeq } = found
      await moveAttestation(tx, found.handle, found, {
        attestationWallet,
        attestationOathSeq,
        attestationUrl: `https://partner.example/${n}`,
        updatedAt: isoTime(nowMs),
      })
    },
    'tier of a partner': async (tx, n, nowMs) => {
      const { handle, subscription } = await partner(tx, nowMs)
      const tier = n % 2 === 0 ? 'pro' : 'team'
      const granted = { tier, priceMicroUsdc: 99_000_000, addedMs: PERIOD_MS } as const
      const given = extended(subscription, granted, nowMs).subscription
      await setSubscription(tx, handle, given, isoTime(nowMs))
    },
    job: postJob,
    bid: bidOn,
    award: async (tx, n, nowMs) => {
      const { job, bid } = await bidOn(tx, n, nowMs)
      await awardBid(tx, job.id, bid, isoTime(nowMs))
      await transitionJob(tx, job, move('award', 'awarded')(nowMs), { awardedBid: bid })
    },
    'end of a job': async (tx, n, nowMs) => {
      const { job } = await bidOn(tx, n, nowMs)
      await transitionJob(tx, job, move('cancel', 'cancelled')(nowMs))
    },
    'skill that was proposed': async (tx, n, nowMs) => {
      const id = `prp_${n}`
      await insertRecord(tx, 'skill_proposals', {
        status: 'pending',
        id,
        slug: `proposed-${n}`,
        name: `Proposed ${n}`,
        category: 'research-analysis',
        surface: ['x402'],
        description: `New ${n}.`,
        proposer: null,
        network: 'n',
        createdAt: isoTime(nowMs),
      })
      await decideProposal(tx, id, {
        status: 'accepted',
        reason: null,
        decidedAt: isoTime(nowMs),
      })
    },
    'reading of the escrow': (tx, n) =>
      saveReading(tx, pactEscrow.address.toLowerCase(), 0, {
        reading: { toBlock: n, finalBlock: n, finalHash: `0x${'0'.repeat(64)}`, caughtUp: true },
        events: [],
        states: new Map(),
      }),
    'run of the checks of receipts': (tx, n, nowMs) =>
      setMeta(
        tx,
        'receipts_run',
        JSON.stringify({
          started_at: isoTime(nowMs - n),
          finished_at: isoTime(nowMs),
          nodes: [],
          chains: [],
        }),
      ),
    'a word of an author': (_tx, n) =>
      edit('rails/apify.json', (rail) => ({ ...rail, notes: `Note ${n}.` })),
    'a note to the skills': (_tx, n) => edit('skills.json', (json) => ({ ...json, note: `${n}.` })),
    'a tier': (_tx, n) =>
      edit('tiers.json', ({ tiers, ...json }) => {
        const [first, ...others] = z.array(anyObject).parse(tiers)
        return { ...json, tiers: [{ ...first, name: `Free ${n}` }, ...others] }
      }),
    'an oath': (_tx, n) =>
      edit('oaths.json', ({ oaths, ...json }) => {
        const [first, ...others] = z.array(anyObject).parse(oaths)
        return { ...json, oaths: [{ ...first, text: `{WALLET} {TIMESTAMP} ${n}` }, ...others] }
      }),
    'an article': (_tx, n) => append('desk/five-statuses.md', `\nLine ${n}.\n`),
    'a line of the changelog': (_tx, n) =>
      append('../CHANGELOG.md', `\n## [0.0.${n}] - 2026-11-21\n\n- Line ${n}.\n`),
    'a skill for agents': (_tx, n) => append('agent-skills/desk/SKILL.md', `\nLine ${n}.\n`),
  } as const satisfies Readonly<Record<string, Write>>
}
