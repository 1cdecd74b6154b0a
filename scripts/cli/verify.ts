/** Documents, whole snapshots and scores, checked without trust in the service. */
import { dirname, join, relative, resolve, sep } from 'node:path'

import { sha256Hex } from '../../src/auth/messages.ts'
import { CallError, UnexpectedAnswerError } from '../../src/client/errors.ts'
import { siteUrlOf } from '../../src/client/prepare.ts'
import { send } from '../../src/client/transport.ts'
import type { RawAnswer } from '../../src/client/transport.ts'
import { verifyScore, wholeReputation } from '../../src/client/verify-receipt.ts'
import {
  parseSigningKeys,
  verifyDocument,
  verifyEntry,
  verifyManifest,
} from '../../src/client/verify.ts'
import type { Check } from '../../src/client/verify.ts'
import { reputation } from '../../src/contract/schemas/reputation.ts'
import type { SigningKeys } from '../../src/contract/schemas/service.ts'
import {
  MANIFEST_FILE,
  MANIFEST_PATH,
  MANIFEST_SIGNATURE_FILE,
  encodedFile,
  manifestSchema,
} from '../../src/core/documents.ts'
import type { ManifestEntry } from '../../src/core/documents.ts'
import { minuteMs } from '../../src/core/time.ts'
import { printChecks } from './checks.ts'
import type { Command, Option } from './command.ts'
import { readBytes, readJsonObject } from './files.ts'
import { UsageError } from './input.ts'
import type { Input } from './input.ts'
import type { Session } from './session.ts'

const keysPath = '/.well-known/signing-keys.json'
const keysOption: Readonly<Record<string, Option>> = {
  keys: {
    value: 'path',
    doc: 'a signing-keys.json that you have from before; else the one beside the document is believed',
  },
}

export const verifyCommands: readonly Command[] = [
  {
    words: 'document verify',
    summary: 'Check the signature of a published document',
    description:
      'An address or a path of the site is fetched. A file must lie in a published set: the manifest above it is read,\nand no network is needed.',
    operands: [{ name: 'document', doc: 'address, path such as /api/v1/rails, or file' }],
    options: keysOption,
    kind: 'read',
    run: async (session, input) => {
      const named = input.operand('document')
      const isRemote = /^https?:\/\//.test(named) || named.startsWith('/api/')
      const checks = isRemote
        ? await verifyRemote(session, input, named)
        : await verifyFile(named, input)
      return printChecks(session, { document: named }, checks)
    },
  },
  {
    words: 'snapshot verify',
    summary: 'Check the manifest and every document of the published set',
    options: {
      ...keysOption,
      dir: { value: 'path', doc: 'a published directory (public/current) instead of the site' },
      'max-age': {
        value: 'minutes',
        doc: 'refuse an older set: a good signature on it still holds',
      },
    },
    kind: 'read',
    run: async (session, input) => {
      const dir = input.text('dir')
      const open = () => (dir === undefined ? siteSource(session) : directorySource(dir))
      const maxAge = input.text('max-age')
      if (maxAge !== undefined && !/^[1-9]\d{0,6}$/.test(maxAge)) {
        throw new UsageError('--max-age is a number of minutes')
      }
      const found = await verifyStandingSet(open, input.text('keys'))
      const count = found.length - 2
      const age = maxAge === undefined ? [] : [await ageOf(session, open(), Number(maxAge))]
      const checks = [...found, ...age]
      const bad = checks.filter(({ good }) => !good)
      const shown = bad.length > 0 ? bad : [...found.slice(0, 2), ...age]
      return printChecks(session, { documents: Math.max(0, count) }, shown)
    },
  },
  {
    words: 'score verify',
    summary: 'Recompute a score from its entries by the published formula',
    operands: [{ name: 'wallet', doc: 'whose score' }],
    options: {
      file: {
        value: 'path',
        doc: 'a saved answer of GET /reputation/{wallet} instead of the ledger',
      },
    },
    kind: 'signed',
    run: async (session, input) => {
      const file = input.text('file')
      const wallet = input.operand('wallet')
      const call = async (query = {}) => (await session.signing()).calls.reputation(wallet, query)
      if (input.flag('print-curl') || input.flag('dry-run')) {
        await session.perform(await call())
        return undefined
      }
      const answer =
        file === undefined
          ? await wholeReputation(async (query) => session.reader().submit(await call(query)))
          : reputationOf(file)
      const checks = [...verifyScore(answer)]
      if (answer.wallet.toLowerCase() !== wallet.toLowerCase()) {
        checks.push({ what: 'wallet', good: false, detail: `the answer is about ${answer.wallet}` })
      }
      return printChecks(session, { wallet, rep_score: answer.rep_score }, checks)
    },
  },
]

function reputationOf(file: string) {
  const parsed = reputation.safeParse(readJsonObject(file))
  if (parsed.success) return parsed.data
  throw new UsageError(`${file} is no answer of GET /reputation/{wallet}`)
}

async function verifyRemote(
  session: Session,
  input: Input,
  named: string,
): Promise<readonly Check[]> {
  const site = siteUrlOf(session.ledger)
  const url = URL.canParse(named, site) ? new URL(named, site) : null
  if (url === null) throw new CallError(`${named} is no address`)
  const answer = await get(session, url.href)
  const keys = await keysOf(input.text('keys'), () => bytesAt(session, `${url.origin}${keysPath}`))
  const signature = answer.headers.get('x-signature')
  const kid = answer.headers.get('x-signature-key')
  if (signature === null || kid === null) {
    return [{ what: 'signature', good: false, detail: 'the answer carries none' }]
  }
  return [await verifyDocument(answer.bytes, { signature, kid }, keys)]
}

async function verifyFile(named: string, input: Input): Promise<readonly Check[]> {
  const path = resolve(named)
  const bytes = readBytes(path)
  const root = rootOf(path)
  const source = directorySource(root)
  const keys = await keysOf(input.text('keys'), source.keys)
  const { manifest, checks } = await verifyManifest(
    await source.manifest(),
    await source.signature(),
    keys,
  )
  if (manifest === null || path === join(root, MANIFEST_FILE)) return checks
  const file = relative(root, path).split(sep).join('/')
  const entry = manifest.documents.find((document) => document.file === file)
  const missing = { what: file, good: false, detail: 'is not in the manifest' }
  return [...checks, entry === undefined ? missing : await verifyEntry(entry, bytes, keys)]
}

/** The nearest directory above a file that holds a manifest. @throws UsageError */
function rootOf(path: string): string {
  for (let at = dirname(path); ; at = dirname(at)) {
    if (isThere(join(at, MANIFEST_FILE))) return at
    if (at === dirname(at)) throw new UsageError(`no ${MANIFEST_FILE} lies beside or above ${path}`)
  }
}

function isThere(path: string): boolean {
  try {
    readBytes(path)
    return true
  } catch {
    return false
  }
}

/** A published set, wherever it lies. */
interface Source {
  readonly manifest: () => Promise<Uint8Array>
  /** `ed25519:<base64> <kid>` */
  readonly signature: () => Promise<string>
  readonly keys: () => Promise<Uint8Array>
  /** Null where there is none. */
  readonly document: (entry: {
    readonly path: string
    readonly file: string
  }) => Promise<Uint8Array | null>
  /** The bytes of a compressed form, null where there is none; null as a whole where only a server has them. */
  readonly form: ((file: string) => Uint8Array | null) | null
}

function directorySource(dir: string): Source {
  const at = (file: string) => Promise.resolve(readBytes(join(dir, file)))
  return {
    manifest: () => at(MANIFEST_FILE),
    signature: async () => (await at(MANIFEST_SIGNATURE_FILE)).toString('utf8'),
    keys: () => at(keysPath.slice(1)),
    document: async ({ file }) => (isThere(join(dir, file)) ? await at(file) : null),
    form: (file) => (isThere(join(dir, file)) ? readBytes(join(dir, file)) : null),
  }
}

function siteSource(session: Session): Source {
  const site = siteUrlOf(session.ledger)
  let manifest: Promise<RawAnswer> | undefined
  const fetched = () => (manifest ??= get(session, `${site}${MANIFEST_PATH}`))
  return {
    manifest: async () => (await fetched()).bytes,
    signature: async () => {
      const { headers } = await fetched()
      return `${headers.get('x-signature') ?? ''} ${headers.get('x-signature-key') ?? ''}`
    },
    keys: () => bytesAt(session, `${site}${keysPath}`),
    document: ({ path }) => bytesAt(session, `${site}${path}`),
    form: null,
  }
}

/** Whether the set is younger: whoever holds the newer ones back can show an old one with a good signature. */
async function ageOf(session: Session, source: Source, maxMinutes: number): Promise<Check> {
  const parsed = manifestSchema.safeParse(
    JSON.parse(Buffer.from(await source.manifest()).toString()),
  )
  const computedMs = parsed.success ? Date.parse(parsed.data.computed_at) : Number.NaN
  const minutes = Math.floor((session.clock.now() - computedMs) / minuteMs)
  return { what: 'age', good: minutes <= maxMinutes, detail: `computed ${minutes} minutes ago` }
}

/** The manifest and every document below a directory, by the keys in it: the first two checks are the manifest's. */
export async function verifyDirectory(dir: string): Promise<readonly Check[]> {
  return await verifySet(directorySource(dir), undefined)
}

/** So often a set may be replaced while it is read before what was found is told as it is. */
const replacementsTaken = 5

/** A set that was replaced while it was read shows nothing: the one that stands now is read instead. */
async function verifyStandingSet(
  open: () => Source,
  pinned: string | undefined,
): Promise<readonly Check[]> {
  for (let replaced = 0; ; replaced += 1) {
    const source = open()
    const before = Buffer.from(await source.manifest())
    const outcome = await verifySet(source, pinned).catch((error: unknown) => ({ error }))
    const stands = before.equals(Buffer.from(await open().manifest()))
    if (!('error' in outcome) && (stands || outcome.every(({ good }) => good))) return outcome
    if (!stands && replaced < replacementsTaken) continue
    if ('error' in outcome) throw outcome.error
    return outcome
  }
}

async function verifySet(source: Source, pinned: string | undefined): Promise<readonly Check[]> {
  const keys = await keysOf(pinned, source.keys)
  const { manifest, checks } = await verifyManifest(
    await source.manifest(),
    await source.signature(),
    keys,
  )
  const all = [...checks]
  for (const entry of manifest?.documents ?? []) {
    const check = await verifyEntry(entry, await source.document(entry), keys)
    all.push(check.good ? (badForm(entry, source) ?? check) : check)
  }
  return all
}

/** A compressed form that is another than the manifest says; null where all are as published, or are not at hand. */
function badForm(entry: ManifestEntry, { form }: Source): Check | null {
  if (form === null) return null
  for (const encoding of ['br', 'gzip'] as const) {
    const described = entry.encodings[encoding]
    if (described === undefined) continue
    const bytes = form(encodedFile(entry.file, encoding))
    if (bytes !== null && sha256Hex(bytes) === described.sha256) continue
    const detail = `the ${encoding} form ${bytes === null ? 'is missing' : 'has another SHA-256'}`
    return { what: entry.path, good: false, detail }
  }
  return null
}

async function keysOf(
  pinned: string | undefined,
  beside: () => Promise<Uint8Array>,
): Promise<SigningKeys> {
  const keys = parseSigningKeys(pinned === undefined ? await beside() : readBytes(pinned))
  if (keys !== null) return keys
  if (pinned !== undefined) throw new UsageError(`${pinned} is no signing-keys.json`)
  throw new UnexpectedAnswerError(`${keysPath} holds no keys`)
}

async function bytesAt(session: Session, url: string): Promise<Uint8Array> {
  return (await get(session, url)).bytes
}

function get({ fetch, clock }: Session, url: string): Promise<RawAnswer> {
  return send({ fetch, clock }, { method: 'GET', url, headers: {}, body: null, signed: [] })
}
