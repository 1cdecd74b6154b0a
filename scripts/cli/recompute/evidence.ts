/** The published evidence of a rail. Every document is compared with its SHA-256. */
import { z } from 'zod'

import { lookUpCursor } from '../../../builder/rails/look-up-state.ts'
import { transfersKeptMs } from '../../../builder/rails/looked-up.ts'
import type { LookUpWallets } from '../../../builder/rails/looked-up.ts'
import { windowEndingAt } from '../../../builder/rails/window.ts'
import { sha256Hex } from '../../../src/auth/messages.ts'
import type { LedgerClient } from '../../../src/client/client.ts'
import { LedgerError, UnexpectedAnswerError } from '../../../src/client/errors.ts'
import type { railHistory } from '../../../src/contract/schemas/rail.ts'
import {
  checkedBundle,
  evidencePath,
  isLogInput,
  lookUpReading,
  partsOf,
  unpack,
} from '../../../src/core/evidence.ts'
import type { Bundle, LogInput, LookUpReading } from '../../../src/core/evidence.ts'
import { remember } from '../../../src/core/remember.ts'
import type { PaymentFacts } from '../../../src/core/rules/facts.ts'
import { hourMs } from '../../../src/core/time.ts'

export type PublishedPoll = z.infer<typeof railHistory>['polls'][number]

/** The poll that is checked, and those before it, newest first. */
export type Bundles = readonly [Bundle, ...Bundle[]]

const keptLists = 16
const texts = z.array(z.string())
export const keysIn = (list: unknown): readonly string[] => texts.parse(list ?? [])

/** The evidence does not contain what a check wants to read. */
export class NotKept extends Error {
  override readonly name = 'NotKept'
}

export type EvidenceReader = ReturnType<typeof createEvidenceReader>

export function createEvidenceReader(call: LedgerClient['call']) {
  const text = async (sha256: string): Promise<string> => {
    const path = evidencePath(sha256)
    const body = await call('getEvidence', { params: { sha256 } }).catch((error: unknown) => {
      if (error instanceof LedgerError && error.status === 404)
        throw new NotKept(`${path} is not published`)
      throw error
    })
    const found = sha256Hex(body)
    if (found === sha256) return body
    throw new UnexpectedAnswerError(`${path} has the SHA-256 ${found}`)
  }
  const load = async (sha256: string, documents: Map<string, string>): Promise<string> => {
    const body = documents.get(sha256) ?? (await text(sha256))
    documents.set(sha256, body)
    for (const part of partsOf(body)) await load(part, documents)
    return body
  }
  const value = async (sha256: string | null | undefined): Promise<unknown> => {
    if (sha256 === null || sha256 === undefined) return undefined
    const documents = new Map<string, string>()
    return unpack(await load(sha256, documents), documents)
  }
  const bundle = async (sha256: string): Promise<Bundle> => {
    const { data, error } = checkedBundle.safeParse(await value(sha256))
    if (data !== undefined) return data
    const place = error.issues[0]?.path.join('.') ?? ''
    throw new UnexpectedAnswerError(`${evidencePath(sha256)} is malformed at ${place}`)
  }
  const lists = new Map<string, unknown>()
  return {
    text,
    value,
    /** The same for a list that several readings name. */
    list: async (sha256: string | null | undefined): Promise<unknown> => {
      const key = String(sha256)
      const found = lists.get(key) ?? (await value(sha256))
      remember(lists, key, found, keptLists)
      return found
    },
    bundle,
    /** Null if the document is not published. */
    ifPublished: async <Value>(read: Promise<Value>): Promise<Value | null> => {
      try {
        return await read
      } catch (error) {
        if (error instanceof NotKept) return null
        throw error
      }
    },
    /** Newest first, at least up to the last successful poll. */
    bundlesBefore: async ({ previous }: Bundle, sinceMs: number): Promise<readonly Bundle[]> => {
      const bundles: Bundle[] = []
      let next = previous
      while (next !== null) {
        const one = await bundle(next)
        bundles.push(one)
        const isEnough =
          Date.parse(one.at) < sinceMs && bundles.some(({ outcome }) => outcome === 'ok')
        next = isEnough ? null : one.previous
      }
      return bundles
    },
  }
}

export interface PublishedReading {
  readonly input: LogInput
  readonly bundle: Bundle
}

/** What the polls read since the window began, the newest first. Earlier readings contain no payment of it. */
export function readingsOf(bundles: Bundles): readonly PublishedReading[] {
  const { start30dMs } = windowEndingAt(Date.parse(bundles[0].at))
  return bundles.flatMap((bundle) =>
    bundle.inputs
      .filter(isLogInput)
      .filter(({ at }) => Date.parse(at) >= start30dMs)
      .toReversed()
      .map((input) => ({ input, bundle })),
  )
}

/** Null if they are not published. */
export async function publishedLines(
  { rows }: Pick<LogInput, 'rows'>,
  evidence: EvidenceReader,
): Promise<readonly string[] | null> {
  const lines = rows === null ? null : await evidence.ifPublished(evidence.value(rows))
  return lines === null ? null : texts.parse(lines)
}

type LookedUp = Pick<PaymentFacts, 'lookedUp' | 'transfers' | 'wallets'>
const readWallets = z.object({ into: texts, outOf: texts })

export type LookUps = Awaited<ReturnType<typeof publishedLookUps>>
export type PublishedLookUp = LookUps['readings'][number]

/** What the poll says, and the readings of all polls whose transfers it knows. */
export async function publishedLookUps([bundle, ...others]: Bundles, evidence: EvidenceReader) {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the poll packed it
  const list = (await evidence.value(bundle.lists['looked_up'])) as LookedUp | undefined
  const stored = (await evidence.value(bundle.lists['wallet_tests'])) ?? {}
  const sinceMs = Date.parse(bundle.at) - transfersKeptMs - hourMs
  const isUsed = (list?.lookedUp ?? null) !== null
  const earlier = isUsed ? await evidence.bundlesBefore(others.at(-1) ?? bundle, sinceMs) : []
  const bundles = [bundle, ...others, ...earlier].filter(({ at }) => Date.parse(at) >= sinceMs)
  const readings: (Omit<LookUpReading, 'wallets'> & {
    readonly wallets: LookUpWallets
    /** Null if they are not published. */
    readonly lines: readonly string[] | null
  })[] = []
  let unread = 0
  for (const { look_ups } of isUsed ? bundles : []) {
    const found = await evidence.ifPublished(evidence.value(look_ups))
    if (look_ups === undefined || (look_ups !== null && found === null)) unread += 1
    for (const one of z.array(lookUpReading).parse(found ?? [])) {
      const wallets = readWallets.parse(await evidence.list(one.wallets))
      readings.push({ ...one, wallets, lines: await publishedLines(one, evidence) })
    }
  }
  return { list, tests: lookUpCursor.shape.tests.parse(stored), readings, unread }
}
