import { verifyEd25519 } from '../auth/ed25519.ts'
import type { AnswerOf } from '../contract/route-types.ts'
import { hasSignature } from '../contract/route.ts'
import { pathOf, routeOf } from '../contract/routes.ts'
import type { RouteId } from '../contract/routes.ts'
import type { SigningKeys } from '../contract/schemas/service.ts'
import type { Clock, Random } from '../core/deps.ts'
import { manifestSchema } from '../core/documents.ts'
import { parseKey } from '../core/tlog/note.ts'
import type { NoteKey } from '../core/tlog/note.ts'
import { prepareCall, readAnswer } from './call.ts'
import type { Call, CallParts } from './call.ts'
import { CallError, OldSetError, UnexpectedAnswerError } from './errors.ts'
import { createLogReader } from './log.ts'
import type { CheckpointStore, LogReader, LogSource } from './log.ts'
import { siteUrlOf } from './prepare.ts'
import type { Caller } from './prepare.ts'
import type { WalletSigner } from './signers.ts'
import { readIfFound, send, sendGet, textOf } from './transport.ts'
import type { RawAnswer, TransportDeps } from './transport.ts'
import { followKeys, parseSigningKeys, verifyCurrency, verifyDocument } from './verify.ts'
import type { SeenManifest } from './verify.ts'

export interface ClientOptions extends TransportDeps {
  /** Scheme, host and port of the site, with or without `/api/v1`. */
  readonly baseUrl: string
  /** The value of `<service>` in every signed message. */
  readonly serviceName: string
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly random: Pick<Random, 'bytes'>
  readonly signer?: WalletSigner | undefined
  /**
   * Trusted keys, as at `/.well-known/signing-keys.json`. Every answer that the ledger signs must then be signed by one of
   * them, or by a key that one of them signed as its successor.
   */
  readonly keys?: SigningKeys | undefined
  /** The log to check, by its verifier key (c2sp.org/signed-note). */
  readonly log?:
    | (LogKeys & {
        /** Stores the newest checkpoint; by default in memory. */
        readonly store?: CheckpointStore
      })
    | undefined
}

type PartsArgument<Id extends RouteId> =
  object extends CallParts<Id> ? [parts?: CallParts<Id>] : [parts: CallParts<Id>]

export interface LedgerClient {
  /**
   * Signs and sends a call: `client.call('getRail', { params: { name: 'x402' } })`.
   * The manifest is compared with the newest one that this client has seen.
   * @throws CallError, LedgerError, LedgerUnreachableError, UnexpectedAnswerError, OldSetError
   */
  readonly call: <Id extends RouteId>(id: Id, ...parts: PartsArgument<Id>) => Promise<AnswerOf<Id>>
  /** Signs the same call without sending it. @throws CallError */
  readonly prepare: <Id extends RouteId>(id: Id, ...parts: PartsArgument<Id>) => Promise<Call<Id>>
  /** Sends a prepared call. @throws LedgerError, LedgerUnreachableError, UnexpectedAnswerError */
  readonly submit: <Id extends RouteId>(call: Call<Id>) => Promise<AnswerOf<Id>>
  /** Null without the option `log`. Each check compares the log with the newest checkpoint seen. */
  readonly log: LogReader | null
  /** Passed to `prepareCall` for routes known only at run time. */
  readonly caller: Caller
}

/** @throws CallError if `baseUrl` is not a valid ledger address, or a key of the log is malformed */
export function createClient(options: ClientOptions): LedgerClient {
  const { baseUrl, serviceName, clock, random, signer = null } = options
  const caller = { siteUrl: siteUrlOf(baseUrl), serviceName, clock, random, signer }
  let seen: SeenManifest | null = null
  const noteManifest = (bytes: Uint8Array): void => {
    const manifest = manifestSchema.parse(JSON.parse(textOf(bytes)))
    const current = verifyCurrency(bytes, manifest, { nowMs: clock.now(), seen })
    const bad = current.checks.find(({ good }) => !good)
    if (bad !== undefined) throw new OldSetError(`${bad.what}: ${bad.detail}`)
    seen = current.seen
  }
  let trusted = options.keys
  const requireSigned = async ({ bytes, headers }: RawAnswer): Promise<void> => {
    if (trusted === undefined) return
    const [signature, kid] = [
      headers.get('x-signature') ?? '',
      headers.get('x-signature-key') ?? '',
    ]
    if (!trusted.keys.some((key) => key.kid === kid)) {
      const listed = await sendGet(options, `${caller.siteUrl}${pathOf('getSigningKeys')}`)
      trusted = followKeys(trusted, parseSigningKeys(listed.bytes) ?? { keys: [] })
    }
    const { good, what, detail } = await verifyDocument(bytes, { signature, kid }, trusted)
    if (!good) throw new UnexpectedAnswerError(`${what}: ${detail}`)
  }
  const submit = async <Id extends RouteId>({ route, request }: Call<Id>) => {
    const raw = await send(options, request)
    if (hasSignature(routeOf(route))) await requireSigned(raw)
    const answer = readAnswer(route, raw)
    if (route === 'getSnapshotManifest') noteManifest(raw.bytes)
    return answer
  }
  const { log } = options
  const logUrl = `${caller.siteUrl}/log`
  return {
    caller,
    log: log === undefined ? null : createLogReader(logOverHttp(options, logUrl, log), log.store),
    submit,
    prepare: (id, ...[parts]) => prepareCall(caller, id, parts),
    call: async (id, ...[parts]) => await submit(await prepareCall(caller, id, parts)),
  }
}

/** Verifier keys (c2sp.org/signed-note). */
export interface LogKeys {
  readonly vkey: string
  /** Each of them must have cosigned. */
  readonly witnesses?: readonly string[]
}

/** @throws CallError for a malformed key */
export function logOverHttp(
  deps: TransportDeps,
  url: string,
  { vkey, witnesses = [] }: LogKeys,
): LogSource {
  return {
    key: keyOf(vkey, 'log'),
    witnesses: witnesses.map((text) => keyOf(text, 'witness')),
    read: async (path) => await readIfFound(deps, `${url}/${path}`),
    isSigned: (...parts) => verifyEd25519(...parts).valid,
  }
}

function keyOf(text: string, role: 'log' | 'witness'): NoteKey {
  const key = parseKey(text.trim())
  if (key !== null && (key.type === 'log') === (role === 'log')) return key
  throw new CallError(`the key of a ${role} has the form <name>+<key id>+<base64>, as at /log/vkey`)
}
