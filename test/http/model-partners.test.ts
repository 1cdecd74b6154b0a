/** Random sequences of what wallets and partners write beside receipts and jobs, against a model in memory. */
import fc from 'fast-check'
import { expect, test } from 'vitest'

import { loadReference } from '../../src/actions/reference.ts'
import type { Reference } from '../../src/actions/reference.ts'
import { bodySha256, fillOath, messages } from '../../src/auth/messages.ts'
import { hourMs, isoTime } from '../../src/core/time.ts'
import type { Service } from '../support/http-service.ts'
import { partnerClient } from '../support/partners.ts'
import { requestJson } from '../support/requests.ts'
import { useServices } from '../support/use-services.ts'
import { evmWallet, nearWallet, testService } from '../support/wallets.ts'

const wallets = { ann: evmWallet('ann'), ben: nearWallet('ben'), cat: evmWallet('cat') } as const
type Who = keyof typeof wallets
const people = ['ann', 'ben', 'cat'] as const satisfies readonly Who[]
const handles = ['first', 'second'] as const
type Handle = (typeof handles)[number]
/** Given again by `MODEL_SEED`, the sequences are the same. */
const seed = Number(process.env['MODEL_SEED'] ?? Date.now() % 2 ** 31)

const who = fc.constantFrom(...people)
const handle = fc.constantFrom(...handles)
const step = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('claim' as const), who }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('signup' as const), who, handle }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('attest' as const), who, handle, url: fc.nat(3) }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('subscribe' as const), who }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('unsubscribe' as const), who, of: fc.nat(4) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('apply' as const),
      who,
      rail: fc.constantFrom('x402', 'no-such-rail'),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('propose' as const), name: fc.nat(30) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait' as const) }) },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never
type Act<Kind extends Step['kind']> = Extract<Step, { readonly kind: Kind }>

/** What the ledger should hold, kept the plain way. */
interface Model {
  readonly claims: Set<Who>
  readonly partners: Map<Handle, Who>
  /** The address that stands, and who set it. */
  readonly endpoints: Map<Handle, string>
  readonly subscriptions: { readonly id: string; readonly who: Who }[]
  readonly applications: { readonly who: Who; readonly at: number }[]
  readonly proposals: number[]
  readonly audit: string[]
}

interface Run {
  readonly service: Service
  readonly reference: Reference
  readonly model: Model
}

async function send({ service }: Run, method: string, path: string, body: object) {
  const answer = await requestJson(service, `/api/v1${path}`, { method, body })
  return { status: answer.status, body: answer.body }
}

/** What a repeat of a write is answered: the first result, and nothing is written twice. */
async function sendTwice(run: Run, method: string, path: string, body: object) {
  const answer = await send(run, method, path, body)
  if (answer.status >= 300) return answer
  expect(await send(run, method, path, body)).toEqual({ status: 200, body: answer.body })
  return answer
}

const call = (
  { service }: Run,
  name: Who,
  method: 'POST' | 'DELETE',
  path: string,
  body?: object,
) => partnerClient(service, wallets[name])(method, `/api/v1${path}`, body)

const handleOf = ({ model }: Run, name: Who): Handle | undefined =>
  [...model.partners].find(([, owner]) => owner === name)?.[0]

async function oath({ reference }: Run, kind: 'claim' | 'partner', name: Who, timestamp: string) {
  const wallet = wallets[name]
  const text = reference.oaths.get(kind)?.text ?? ''
  return await wallet.sign(fillOath(text, { wallet: wallet.address, timestamp }))
}

async function claim(run: Run, { who: name }: Act<'claim'>): Promise<void> {
  const { service, model } = run
  service.clock.advance(1)
  const wallet = wallets[name]
  const timestamp = isoTime(service.clock.now())
  const signs = await oath(run, 'claim', name, timestamp)
  const named = { wallet: wallet.address, display_name: name, timestamp }
  const unsigned = { ...named, signature: '', oath_signature: signs }
  const sha256 = bodySha256(unsigned)
  const from = { wallet: wallet.address, timestamp, bodySha256: sha256 }
  const signature = await wallet.sign(messages.claim(testService, from))
  const { status } = await sendTwice(run, 'POST', '/claim', { ...unsigned, signature })
  expect(status).toBe(model.claims.has(name) ? 409 : 201)
  if (status === 201) model.audit.push(`${wallet.id} null claimSpot`)
  model.claims.add(name)
}

async function signup(run: Run, { who: name, handle: wanted }: Act<'signup'>): Promise<void> {
  const { service, model } = run
  service.clock.advance(1)
  const timestamp = isoTime(service.clock.now() + 1)
  const oath_signature = await oath(run, 'partner', name, timestamp)
  const body = { handle: wanted, display_name: name, tier: 'free', timestamp, oath_signature }
  const { status, body: answer } = await call(run, name, 'POST', '/partners/signup', body)
  const isFree = handleOf(run, name) === undefined && !model.partners.has(wanted)
  const code = handleOf(run, name) === undefined ? 'handle_taken' : 'conflict'
  expect([status, answer['code']]).toEqual(isFree ? [201, undefined] : [409, code])
  if (!isFree) return
  model.partners.set(wanted, name)
  model.audit.push(`${wallets[name].id} ${wanted} signupPartner`)
}

/** Only the wallet of the oath binds an endpoint, and only the wallet that is bound moves it. */
async function attest(run: Run, { who: name, handle: of, url: at }: Act<'attest'>): Promise<void> {
  const { service, model } = run
  service.clock.advance(1)
  const wallet = wallets[name]
  const timestamp = isoTime(service.clock.now())
  const url = `https://partner.example/attest/${at}`
  const text = messages.attestationEndpoint(testService, { timestamp, handle: of, url })
  const body = { url, wallet: wallet.address, timestamp, signature: await wallet.sign(text) }
  const path = `/partners/${of}/attestation-endpoint`
  const { status } = await sendTwice(run, 'PATCH', path, body)
  const owner = model.partners.get(of)
  expect(status).toBe(owner === undefined ? 404 : owner === name ? 200 : 403)
  if (status !== 200) return
  model.endpoints.set(of, url)
  model.audit.push(`${wallet.id} ${of} updateAttestationEndpoint`)
}

async function subscribe(run: Run, { who: name }: Act<'subscribe'>): Promise<void> {
  const { model } = run
  const body = { url: 'https://hooks.example/in' }
  const { status, body: answer } = await call(run, name, 'POST', '/alerts/subscribe', body)
  const own = model.subscriptions.filter((one) => one.who === name).length
  const of = handleOf(run, name)
  expect(status).toBe(of === undefined ? 403 : own >= 10 ? 422 : 201)
  if (status !== 201) return
  model.subscriptions.push({ id: String(answer['id']), who: name })
  model.audit.push(`${wallets[name].id} ${of} subscribeAlerts`)
}

async function unsubscribe(run: Run, { who: name, of: index }: Act<'unsubscribe'>): Promise<void> {
  const { model } = run
  const found = model.subscriptions[index]
  const id = found?.id ?? `sub_${'0'.repeat(24)}`
  const { status } = await call(run, name, 'DELETE', `/alerts/subscriptions/${id}`)
  const of = handleOf(run, name)
  expect(status).toBe(of === undefined ? 403 : found?.who === name ? 200 : 404)
  if (status !== 200) return
  model.subscriptions.splice(index, 1)
  model.audit.push(`${wallets[name].id} ${of} unsubscribeAlerts`)
}

async function apply(run: Run, { who: name, rail }: Act<'apply'>): Promise<void> {
  const { service, model } = run
  const body = { rail, worker_wallet: wallets[name].address, message: 'I can do this.' }
  const { status, body: answer } = await call(run, name, 'POST', '/opportunities/apply', body)
  const of = handleOf(run, name)
  const now = service.clock.now()
  const recent = model.applications.filter((one) => one.who === name && one.at > now - hourMs)
  const refusals = [rail === 'x402' ? 201 : 422, recent.length < 20 ? 201 : 429] as const
  if (of === undefined) expect([403, 422]).toContain(status)
  else expect(status).toBe(refusals.find((refusal) => refusal !== 201) ?? 201)
  if (status !== 201) return
  expect(answer['mode']).toBe('manual')
  model.applications.push({ who: name, at: now })
  model.audit.push(`${wallets[name].id} ${of} applyToRail`)
}

async function propose(run: Run, { name }: Act<'propose'>): Promise<void> {
  const { service, model } = run
  service.clock.advance(1)
  const now = service.clock.now()
  const recent = model.proposals.filter((at) => at > now - hourMs).length
  const { status } = await send(run, 'POST', '/skills', {
    name: `Unheard of ${name}`,
    category: 'research-analysis',
    surface: ['x402'],
    description: 'Something new.',
  })
  expect(status).toBe(recent < 10 ? 202 : 429)
  if (status === 202) model.proposals.push(now)
}

async function take(run: Run, act: Step): Promise<void> {
  if (act.kind === 'claim') await claim(run, act)
  else if (act.kind === 'signup') await signup(run, act)
  else if (act.kind === 'attest') await attest(run, act)
  else if (act.kind === 'subscribe') await subscribe(run, act)
  else if (act.kind === 'unsubscribe') await unsubscribe(run, act)
  else if (act.kind === 'apply') await apply(run, act)
  else if (act.kind === 'propose') await propose(run, act)
  else run.service.clock.advance(hourMs / 2)
}

async function expectAgreement(run: Run): Promise<void> {
  const { service, model } = run
  const { reader } = service.actions.database
  const rows = await reader
    .selectFrom('oath_history')
    .select(['wallet', 'handle', 'action'])
    .orderBy('seq')
    .execute()
  expect(rows.map((row) => `${row.wallet} ${row.handle} ${row.action}`)).toEqual(model.audit)
  for (const wanted of handles) {
    const answer = await fetch(`${service.url}/api/v1/partners/${wanted}`)
    const owner = model.partners.get(wanted)
    expect(answer.status).toBe(owner === undefined ? 404 : 200)
    if (owner === undefined) continue
    expect(await answer.json()).toMatchObject({
      wallet: wallets[owner].address,
      attestation_endpoint_url: model.endpoints.get(wanted) ?? null,
    })
  }
  const claims = await reader.selectFrom('claims').select('wallet').execute()
  const claimed = [...model.claims].map((name) => wallets[name].id)
  expect(new Set(claims.map(({ wallet }) => wallet))).toEqual(new Set(claimed))
  expect(claims).toHaveLength(claimed.length)
  const hooks = await reader.selectFrom('alert_subscriptions').select(['id', 'wallet']).execute()
  const kept = model.subscriptions.map(({ id, who: name }) => `${id} ${wallets[name].id}`)
  expect(hooks.map(({ id, wallet }) => `${id} ${wallet}`).toSorted()).toEqual(kept.toSorted())
  const tries = await reader.selectFrom('applications').select('outcome').execute()
  expect(tries).toEqual(model.applications.map(() => ({ outcome: 'manual' })))
  const proposed = await reader.selectFrom('skill_proposals').select('status').execute()
  expect(proposed).toEqual(model.proposals.map(() => ({ status: 'pending' })))
}

const everyAction: Step[] = [
  { kind: 'claim', who: 'ann' },
  { kind: 'signup', who: 'ann', handle: 'first' },
  { kind: 'attest', who: 'ann', handle: 'first', url: 0 },
  { kind: 'subscribe', who: 'ann' },
  { kind: 'unsubscribe', who: 'ann', of: 0 },
  { kind: 'apply', who: 'ann', rail: 'x402' },
  { kind: 'propose', name: 0 },
]

const services = useServices()

test('random claims, signups, endpoints, webhooks, applications and proposals match the model in any order', async () => {
  const reference = await loadReference('data')
  process.stdout.write(`random writes of partners: MODEL_SEED=${seed}\n`)
  const taken = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 40, maxLength: 80 }), async (steps) => {
      const service = await services.start({ actions: { reference: () => reference } })
      try {
        const model: Model = {
          claims: new Set(),
          partners: new Map(),
          endpoints: new Map(),
          subscriptions: [],
          applications: [],
          proposals: [],
          audit: [],
        }
        const run = { service, reference, model }
        for (const act of steps) await take(run, act)
        await expectAgreement(run)
        for (const row of model.audit) {
          const action = row.split(' ').at(-1) ?? ''
          taken.set(action, (taken.get(action) ?? 0) + 1)
        }
      } finally {
        await service.stop()
      }
    }),
    // The first run takes every action, whatever the seed.
    { seed, numRuns: 7, endOnFailure: true, examples: [[everyAction]] },
  )
  expect([...taken.keys()].toSorted()).toEqual([
    'applyToRail',
    'claimSpot',
    'signupPartner',
    'subscribeAlerts',
    'unsubscribeAlerts',
    'updateAttestationEndpoint',
  ])
})
