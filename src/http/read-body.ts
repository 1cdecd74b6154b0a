import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

import { ApiError } from '../contract/errors.ts'
import type { JsonObject, JsonValue } from '../core/canonical-json.ts'
import { isJsonObject } from '../core/canonical-json.ts'
import { StrictJsonError, parseStrictJson } from '../core/strict-json.ts'
import { onlyHeader } from './single-headers.ts'

const MAX_BODY_BYTES = 64 * 1024
const JSON_TYPE = /^application\/json(?:[ \t]*;[ \t]*charset=(?:utf-8|"utf-8"))?$/i
/** One member of `Content-Digest` (RFC 9530): an algorithm and a byte sequence of RFC 8941. */
const DIGEST_MEMBER = /^(sha-256|sha-512)=:([A-Za-z0-9+/]+={0,2}):$/
const UNKNOWN_MEMBER = /^[a-z*][a-z0-9_.*-]*=:[A-Za-z0-9+/]*={0,2}:$/

export interface JsonBody {
  readonly json: JsonObject
  readonly rawSha256: string
  readonly bytes: number
}

/** If `isOptional`, a missing body is read as an empty object. @throws ApiError 415, 413, 400 `digest_mismatch`, 400 `malformed_json` */
export async function readJsonBody(
  incoming: IncomingMessage,
  isOptional = false,
): Promise<JsonBody> {
  const isAbsent = isOptional && !hasBody(incoming)
  const type = onlyHeader(incoming, 'content-type')
  if (!isAbsent && (type === null || !JSON_TYPE.test(type.trim()))) {
    throw new ApiError('unsupported_media_type', undefined, { headers: closing })
  }
  const raw = await readBytes(incoming)
  checkDigest(onlyHeader(incoming, 'content-digest'), raw)
  const json = isAbsent ? {} : parseObject(raw)
  return { json, rawSha256: hash('sha256', raw, 'hex'), bytes: raw.length }
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined
}

/** Otherwise the unread body would be parsed as the next request. */
const closing = { Connection: 'close' } as const

function readBytes(incoming: IncomingMessage): Promise<Buffer> {
  const declared = Number(incoming.headers['content-length'] ?? 0)
  if (declared > MAX_BODY_BYTES) return Promise.reject(tooLarge())
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const settle = (finish: () => void) => {
      incoming.off('data', onData)
      incoming.off('end', onEnd)
      incoming.off('error', onCut)
      incoming.off('close', onCut)
      finish()
    }
    const onData = (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= MAX_BODY_BYTES) chunks.push(chunk)
      else {
        incoming.pause()
        settle(() => reject(tooLarge()))
      }
    }
    const onEnd = () => settle(() => resolve(Buffer.concat(chunks)))
    const onCut = () =>
      settle(() => reject(new ApiError('malformed_request', 'The body was incomplete')))
    incoming.on('data', onData)
    incoming.on('end', onEnd)
    incoming.on('error', onCut)
    incoming.on('close', onCut)
  })
}

function tooLarge(): ApiError {
  return new ApiError('body_too_large', undefined, { headers: closing })
}

/** Ignores unknown algorithms (RFC 9530 section 2). */
function checkDigest(header: string | null, raw: Buffer): void {
  if (header === null) return
  for (const member of header.split(',').map((part) => part.trim())) {
    const [, algorithm, digest = ''] = DIGEST_MEMBER.exec(member) ?? []
    if (algorithm === undefined && UNKNOWN_MEMBER.test(member) && !/^sha-(?:256|512)=/.test(member))
      continue
    const found = hash(algorithm === 'sha-512' ? 'sha512' : 'sha256', raw, 'base64')
    if (algorithm === undefined || digest !== found) throw new ApiError('digest_mismatch')
  }
}

function parseObject(raw: Buffer): JsonObject {
  const value = parseJson(raw)
  if (isJsonObject(value)) return value
  throw new ApiError('invalid_input', 'The body must be a JSON object')
}

function parseJson(raw: Buffer): JsonValue {
  try {
    return parseStrictJson(raw)
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error
    throw new ApiError('malformed_json', error.message)
  }
}
