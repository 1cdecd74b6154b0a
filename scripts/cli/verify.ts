import { dirname, join, relative, resolve, sep } from 'node:path'

import { z } from 'zod'

import { sha256Hex } from '../../src/auth/messages.ts'
import { CallError } from '../../src/client/errors.ts'
import { siteUrlOf } from '../../src/client/prepare.ts'
import { fetchWholeReputation, verifyScore } from '../../src/client/verify-score.ts'
import { pathOf } from '../../src/contract/routes.ts'
import { reputation } from '../../src/contract/schemas/reputation.ts'
import type { JsonValue } from '../../src/core/canonical-json.ts'
import { check } from '../../src/core/check.ts'
import type { Check } from '../../src/core/check.ts'
import { MANIFEST_FILE } from '../../src/core/documents.ts'
import type { ManifestEntry } from '../../src/core/documents.ts'
import { limitPolicies } from '../../src/core/limits.ts'
import { checkStatement, incomeStatement } from '../../src/core/statement.ts'
import { strictJsonOrNull } from '../../src/core/strict-json.ts'
import { minuteMs } from '../../src/core/time.ts'
import { flag, minutes, operand, option, requiredOption } from './command.ts'
import type { Command } from './command.ts'
import { fileExists, readBytes, readJsonObject } from './files.ts'
import { UsageError } from './input.ts'
import type { Input } from './input.ts'
import { entryInLog, manifestInLog } from './log.ts'
import { printChecks } from './output.ts'
import { openDirectory, openSite, readManifest, verifyCurrentSet } from './published-set.ts'
import type { PublishedSet } from './published-set.ts'
import type { Session } from './session.ts'

const pactNumber = z.string().regex(/^(?:pact-)?[1-9]\d{0,8}$/, 'must be a pact number')
export const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' })

const seen = option(
  'path',
  'file with the newest manifest seen; an older manifest fails, a newer one is recorded',
)

export const verifyCommands: readonly Command[] = [
  {
    words: 'document verify',
    summary: 'Verify a published document against the manifest',
    description:
      'Fetches an address or a path of the site, and the manifest, which binds the bytes to the path and the time. A file is verified offline, against the manifest in a parent directory; without one, its SHA-256 is looked up in the manifest of the ledger.',
    args: { document: operand('address, path such as /api/v1/rails, or file'), seen },
    groups: ['signingKeys', 'ledger'],
    run: async (session, input) => {
      const document = input.required('document')
      const isRemote = /^https?:\/\//.test(document) || document.startsWith('/api/')
      const { open, only } = isRemote
        ? remoteDocument(session, document)
        : localDocument(session, document)
      const checks = await verifyCurrentSet(open, readerOf(session, input), only)
      return printChecks(session, { document }, checks)
    },
  },
  {
    words: 'snapshot verify',
    summary: 'Verify the manifest and every document of the published set',
    description: `Reads each document from the site, as fast as its limits allow: usually ${limitPolicies.ip.burst} of the API at once, then ${limitPolicies.ip.quota} a minute, and ${limitPolicies.day.quota} a day. \`--dir\` reads a copy without requests, and \`document verify\` one document.`,
    args: {
      dir: option('path', 'a published directory (public/current) instead of the site'),
      'max-age': option('minutes', 'maximum age of the set, and of the newest entry', minutes),
      log: flag('also verify that the log contains the manifest'),
      seen,
    },
    groups: ['signingKeys', 'log', 'ledger'],
    run: async (session, input) => {
      const dir = input.text('dir')
      const open = () => (dir === undefined ? openSite(session) : openDirectory(dir))
      const found = await verifyCurrentSet(open, readerOf(session, input))
      const maxAge = input.text('max-age')
      const age = maxAge === undefined ? [] : [await ageCheck(session, open(), Number(maxAge))]
      const logged = input.flag('log') ? await manifestInLog(session, input, open()) : []
      const more = [...age, ...logged]
      const bad = [...found, ...more].filter(({ good }) => !good)
      const documents = found.filter(({ what }) => what.startsWith('/'))
      const others = found.filter((one) => !documents.includes(one))
      const shown = bad.length > 0 ? bad : [...others, ...more]
      return printChecks(session, { documents: documents.length }, shown)
    },
  },
  {
    words: 'score verify',
    summary: 'Recompute a score from its entries by the published formula',
    args: {
      wallet: operand('the worker'),
      file: option('path', 'a saved answer of GET /reputation/{wallet}, instead of a request'),
    },
    groups: ['key', 'preview', 'ledger'],
    run: async (session, input) => {
      const file = input.text('file')
      const wallet = input.required('wallet')
      const call = async (query = {}) =>
        await (
          await session.client('key-if-given')
        ).prepare('getReputation', { params: { wallet }, query })
      if (input.flag('print-curl') || input.flag('dry-run')) {
        return await session.perform(await call())
      }
      const answer =
        file === undefined
          ? await fetchWholeReputation(async (query) => session.reader().submit(await call(query)))
          : parseAnswer(file, reputation, readJsonObject(file), '/reputation/{wallet}')
      const checks = [...verifyScore(answer)]
      if (answer.wallet.toLowerCase() !== wallet.toLowerCase()) {
        checks.push(check('wallet', false, `the answer is for ${answer.wallet}`))
      }
      return printChecks(session, { wallet, rep_score: answer.rep_score }, checks)
    },
  },
  {
    words: 'statement verify',
    summary: 'Recompute the totals and the Merkle root of an income statement',
    description:
      'Works offline, unless --log is given. The transfers themselves are on their chains.',
    args: {
      file: operand('a saved answer of GET /workers/{wallet}/statements/{month}'),
      before: option('path', 'the statement before, whose hash and running total must fit'),
      log: flag('also verify the proof that the log contains the statement'),
    },
    groups: ['log', 'ledger'],
    run: async (session, input) => {
      const { statement, sha256 } = readStatement(input.required('file'))
      const { wallet, month, previous } = statement
      const file = input.text('before')
      const before = file === undefined ? null : readStatement(file)
      const checks = [...checkStatement(statement, before?.statement.running_total_usdc ?? null)]
      if (before !== null) {
        const fits = previous?.sha256 === before.sha256
        checks.push(check('statement before', fits, before.sha256, `is not ${before.sha256}`))
      }
      const proof = pathOf('getStatementProof', { wallet, month })
      const expected = { kind: 'statement', sha256 } as const
      const logged = input.flag('log')
        ? await entryInLog(session, input, proof, expected, 'the statement is not in the log')
        : []
      return printChecks(session, { wallet, month, sha256 }, [...checks, ...logged])
    },
  },
  {
    words: 'pact verify',
    summary: 'Verify a pact against its manifest, the escrow and the ledger record',
    description:
      'Reads the ledger over HTTP and the chain from a node of your choice; neither is trusted alone.',
    args: {
      id: operand('pact number', pactNumber),
      rpc: requiredOption(
        'url',
        'JSON-RPC address of an Arbitrum One node that you trust',
        httpUrl,
      ),
      attestations: option('path', 'JSON file with attestations of the work to verify'),
    },
    groups: ['signingKeys', 'ledger'],
    run: async (session, input) =>
      await (await import('./verify-pact.ts')).verifyPact(session, input),
  },
]

function readStatement(file: string) {
  const bytes = readBytes(file)
  const json = strictJsonOrNull(bytes)
  const path = '/workers/{wallet}/statements/{month}'
  return { statement: parseAnswer(file, incomeStatement, json, path), sha256: sha256Hex(bytes) }
}

function parseAnswer<T>(file: string, schema: z.ZodType<T>, json: JsonValue, path: string): T {
  const parsed = schema.safeParse(json)
  if (parsed.success) return parsed.data
  throw new UsageError(`${file} is not a response from GET ${path}`)
}

const readerOf = (session: Session, input: Input) => ({
  nowMs: session.clock.now(),
  seenFile: input.text('seen'),
  keysFile: input.text('keys'),
})

function remoteDocument(session: Session, document: string) {
  const site = siteUrlOf(session.ledger)
  if (!URL.canParse(document, site)) throw new CallError(`${document} is not an address`)
  const { origin, pathname } = new URL(document, site)
  const selects = ({ path }: ManifestEntry) => path === pathname
  return { open: () => openSite(session, origin), only: { name: pathname, selects } }
}

function localDocument(session: Session, document: string) {
  const path = resolve(document)
  const root = findRoot(path)
  if (root === null) {
    const sha256 = sha256Hex(readBytes(path))
    const name = `SHA-256 ${sha256}`
    const selects = (entry: ManifestEntry) => entry.sha256 === sha256
    return { open: () => openSite(session), only: { name, selects } }
  }
  const name = relative(root, path).split(sep).join('/')
  const selects = ({ file }: ManifestEntry) => file === name
  return { open: () => openDirectory(root), only: { name, selects } }
}

/** Null if no parent directory contains a manifest. */
function findRoot(path: string): string | null {
  for (let at = dirname(path); ; at = dirname(at)) {
    if (fileExists(join(at, MANIFEST_FILE))) return at
    if (at === dirname(at)) return null
  }
}

/** Without this check an attacker could serve an old set with valid signatures. */
async function ageCheck(session: Session, set: PublishedSet, maxMinutes: number): Promise<Check> {
  const manifest = await readManifest(set)
  const computedMs = Date.parse(manifest?.computed_at ?? '')
  const age = Math.floor((session.clock.now() - computedMs) / minuteMs)
  return check('age', age <= maxMinutes, `computed ${age} minutes ago`)
}
