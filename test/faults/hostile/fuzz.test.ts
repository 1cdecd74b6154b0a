/** Requests generated from `/openapi.json`. `FUZZ_SEED` and `FUZZ_RUNS` (per operation and weight) change them. */
import { createHash } from 'node:crypto'

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { openApiDocument } from '../../../src/contract/openapi.ts'
import { routes } from '../../../src/contract/routes.ts'
import { version } from '../../../src/contract/version.ts'
import { canonicalize } from '../../../src/core/canonical-json.ts'
import { openApiValidator } from '../../support/openapi-validator.ts'
import { send } from '../../support/raw-http.ts'
import type { RawAnswer } from '../../support/raw-http.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { describedProblems } from './invariants.ts'
import { plansFor, render } from './requests.ts'
import type { Operation, Plan } from './requests.ts'
import { startTarget } from './target.ts'
import type { Target } from './target.ts'
import { answersTo } from './wire.ts'

allowSlowTests('sends thousands of requests')

const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_121)
const runs = Number(process.env['FUZZ_RUNS'] ?? 20)

const parameter = z.object({ in: z.string(), name: z.string(), schema: z.unknown() })
const operation = z.looseObject({
  operationId: z.string(),
  parameters: z.array(parameter).optional(),
  requestBody: z
    .object({ content: z.object({ 'application/json': z.object({ schema: z.unknown() }) }) })
    .optional(),
  security: z.array(z.record(z.string(), z.unknown())).optional(),
})
const document = z.object({
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.object({ schemas: z.record(z.string(), z.unknown()) }),
})

const own: unknown = JSON.parse(
  JSON.stringify(
    openApiDocument(routes, {
      serviceName: 'agent-income-ledger',
      siteUrl: 'https://ledger.test',
      version,
    }),
  ),
)

function operationsOf(json: unknown): readonly Operation[] {
  return Object.entries(document.parse(json).paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, parameters = [], ...rest }]) => ({
      id: operationId,
      method: method.toUpperCase(),
      path,
      parameters,
      body: rest.requestBody?.content['application/json'].schema ?? null,
      requiresPartner: rest.security?.some((scheme) => 'partnerBearer' in scheme) ?? false,
    })),
  )
}

const operations = operationsOf(own)
const { schemas } = document.parse(own).components
const api = openApiValidator(own)

/** Operations and their error codes, if any, that store a row on purpose: a counted try, and the write check of health. */
const intendedWrites = new Set(['claimSpot code_invalid', 'claimSpot unavailable', 'getHealth '])

let target: Target
const tally = new Map<number, number>()

beforeAll(async () => {
  target = await startTarget()
})
afterAll(async () => {
  await target.stop()
  const sum = [...tally.values()].reduce((total, count) => total + count, 0)
  const listed = [...tally]
    .toSorted(([a], [b]) => a - b)
    .map(([status, count]) => `${status}: ${count}`)
  console.info(`seed ${seed}, ${sum} requests (${listed.join(', ')})`)
})

/** Writes are attacked more often than reads of documents. */
function weightOf({ method, parameters, requiresPartner }: Operation): number {
  if (method !== 'GET') return 5
  return requiresPartner || parameters.length > 1 ? 3 : 1
}

/** A different seed for each operation. */
function hashOf(id: string): number {
  return createHash('sha256').update(id).digest().readInt32BE(0)
}

interface State {
  version: number
  tables: ReadonlyMap<string, string>
}

type Rendered = Awaited<ReturnType<typeof render>>

async function attempt(plan: Plan, its: Operation, state: State): Promise<void> {
  const rendered = await render(target, its, plan)
  const first = await exchange(its, rendered, state)
  if (!plan.isRepeated) return
  const second = await exchange(its, rendered, state)
  const isWrite = its.method !== 'GET' && (its.requiresPartner || its.body !== null)
  if (!isWrite || first.status >= 300 || !rendered.isProven) return
  if (second.status >= 300 || canonical(second.body) !== canonical(first.body)) {
    throw new Error(`the repeat has another answer\n${shown(rendered, second)}`)
  }
}

async function exchange(its: Operation, rendered: Rendered, state: State): Promise<RawAnswer> {
  const [answer, ...more] = await answersTo(target.service.address, rendered.bytes)
  if (answer === undefined) throw new Error(`no answer\n${shown(rendered)}`)
  tally.set(answer.status, (tally.get(answer.status) ?? 0) + 1)
  const problems = [
    ...describedProblems(rendered, answer, { api, secrets: target.secrets }),
    ...(await changedTables(its, answer, state)),
    ...more.map(({ status }) => `another answer: ${status}`),
  ]
  if (problems.length > 0) throw new Error(`${problems.join('\n')}\n${shown(rendered, answer)}`)
  return answer
}

const canonical = (body: Buffer): string => canonicalize(JSON.parse(body.toString()))
const shown = ({ bytes }: Rendered, answer?: RawAnswer) =>
  `${bytes.toString('utf8').slice(0, 3000)}\n=> ${answer?.status} ${answer?.body.toString().slice(0, 2000)}`

/** The tables that a refused request, or a read, has changed. */
async function changedTables(
  { method, path, id }: Operation,
  { status, body }: RawAnswer,
  state: State,
): Promise<readonly string[]> {
  const now = await target.version()
  if (now === state.version) return []
  const before = state.tables
  state.version = now
  state.tables = await target.tables()
  const code = /"code":"(\w+)"/.exec(body.toString())?.[1] ?? ''
  if ((method !== 'GET' && status < 300) || intendedWrites.has(`${id} ${code}`)) return []
  return [...state.tables]
    .filter(([table, digest]) => before.get(table) !== digest)
    .map(([table]) => `a refused request to ${path} changed ${table}`)
}

test('the served /openapi.json is the one that requests are generated from', async () => {
  const { body } = await send(target.service.address, 'GET /openapi.json')
  const ids = (all: readonly Operation[]) => all.map(({ id }) => id).toSorted()
  expect(ids(operationsOf(JSON.parse(body.toString())))).toEqual(ids(operations))
})

describe(`seed ${seed}`, () => {
  test.each(operations.map((its) => [`${its.method} ${its.path}`, its] as const))(
    '%s answers every request as documented, and refused requests change nothing',
    async (_name, its) => {
      const known = await target.prepare(its)
      const state: State = { version: await target.version(), tables: await target.tables() }
      const property = fc.asyncProperty(plansFor(its, schemas, known), (plan) =>
        attempt(plan, its, state),
      )
      await fc.assert(property, {
        seed: seed ^ hashOf(its.id),
        numRuns: runs * weightOf(its),
        endOnFailure: true,
      })
    },
  )
})

describe('after the fuzzing', () => {
  test('no log contains a signature, a payment or a secret after the fuzzing', () => {
    const log = target.service
      .lines()
      .map((line) => JSON.stringify(line))
      .join('\n')
    expect(log).not.toMatch(/0x[0-9a-f]{130}|[A-Za-z0-9+/]{86}==/i)
    expect(log).not.toMatch(/eyJ4NDAy[A-Za-z0-9+/]+/)
    expect(target.service.lines().filter((line) => line['level'] === 'error')).toEqual([])
  })

  test('no prototype was changed by the fuzzing', () => {
    expect(Reflect.get({}, 'isAdmin')).toBeUndefined()
  })

  test('the service answers as before after the fuzzing', async () => {
    const { status } = await send(target.service.address, 'GET /api/v1/rails')
    expect(status).toBe(200)
  })
})
