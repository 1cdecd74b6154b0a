import { verifyEd25519 } from '../auth/ed25519.ts'
import type { AnswerOf } from '../contract/route-types.ts'
import type { RouteId } from '../contract/routes.ts'
import type { Clock, Random } from '../core/deps.ts'
import { manifestSchema } from '../core/documents.ts'
import { parseKey } from '../core/tlog/note.ts'
import type { NoteKey } from '../core/tlog/note.ts'
import { prepareCall, readAnswer } from './call.ts'
import type { Call, CallParts } from './call.ts'
import { CallError, OldSetError } from './errors.ts'
import { createLogReader } from './log.ts'
import type { CheckpointStore, LogReader, LogSource } from './log.ts'
import { siteUrlOf } from './prepare.ts'
import type { Caller } from './prepare.ts'
import type { WalletSigner } from './signers.ts'
import { readIfFound, send } from './transport.ts'
import type { TransportDeps } from './transport.ts'
import { verifyCurrency } from './verify.ts'
import type { SeenManifest } from './verify.ts'

interface ClientOptions extends TransportDeps {
  /** Scheme, host and port of the site, with or without `/api/v1`. */
  readonly baseUrl: string
  /** The value of `<service>` in every signed message. */
  readonly serviceName: string
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly random: Pick<Random, 'bytes'>
  readonly signer?: WalletSigner | undefined
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
    const manifest = manifestSchema.parse(JSON.parse(Buffer.from(bytes).toString('utf8')))
    const current = verifyCurrency(bytes, manifest, { nowMs: clock.now(), seen })
    const bad = current.checks.find(({ good }) => !good)
    if (bad !== undefined) throw new OldSetError(`${bad.what}: ${bad.detail}`)
    seen = current.seen
  }
  const submit = async <Id extends RouteId>({ route, request }: Call<Id>) => {
    const raw = await send(options, request)
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
