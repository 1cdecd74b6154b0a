/**
 * What may be said in public about an RPC that failed. Keys of providers live in the path, the query or the
 * user part of the address, so nothing of it but the host is ever repeated, and text of the node is cut and cleaned.
 */
import { BaseError, HttpRequestError, RpcRequestError } from 'viem'

import { beginningOf } from '../../src/core/parse-early.ts'
import { OversizeError } from '../../src/outbound/read-limited.ts'
import { TimeoutError } from '../../src/outbound/timeout.ts'
import { SourceError } from '../sources/http.ts'
import { chains } from './chains.ts'
import type { ChainName } from './chains.ts'

/** The operator set no RPC for the chain; the rail cannot be polled until one is. */
export class ChainNotConfigured extends Error {
  override readonly name = 'ChainNotConfigured'
  constructor(chain: ChainName) {
    super(`no RPC is set for ${chain} (${chains[chain].rpcSetting})`)
  }
}

/** An RPC that failed. `tooMuch` says that the same question about fewer blocks may be answered. */
export class ChainError extends SourceError {
  readonly tooMuch: boolean
  constructor(message: string, tooMuch = false) {
    super(message)
    this.tooMuch = tooMuch
  }
}

const maxNodeText = 160
export const rateWords = /rate|per second|too many requests|quota|credits|capacity/i
const sizeWords =
  /range|too (?:many|large|big|wide)|limit|exceed|more than|response size|timed? ?out|deadline|\d+ blocks/i

/** Turns whatever viem threw into a `ChainError` that holds no secret. An abort by the caller passes through. */
export function chainError(chain: ChainName, rpcUrl: string, error: unknown): Error {
  if (error instanceof ChainError) return error
  if (error instanceof DOMException && error.name === 'AbortError') return error
  const { reason, tooMuch } = reasonOf(error, rpcUrl)
  return new ChainError(`${chain} RPC at ${hostOf(rpcUrl)}: ${reason}`, tooMuch)
}

/** `host:port` of an address, without its path, query and user part. */
export function hostOf(rpcUrl: string): string {
  return URL.canParse(rpcUrl) ? new URL(rpcUrl).host : 'an address that is no URL'
}

function reasonOf(error: unknown, rpcUrl: string): { reason: string; tooMuch: boolean } {
  if (!(error instanceof BaseError)) return { reason: 'an unexpected answer', tooMuch: false }
  const node = error.walk((cause) => cause instanceof RpcRequestError)
  if (node instanceof RpcRequestError) {
    const details = beginningOf(node.details)
    const tooMuch = sizeWords.test(details) && !rateWords.test(details)
    return { reason: `error ${node.code}: ${cleaned(details, rpcUrl)}`, tooMuch }
  }
  if (error.walk((cause) => cause instanceof TimeoutError) !== null) {
    return { reason: 'timed out', tooMuch: true }
  }
  if (error.walk((cause) => cause instanceof OversizeError) !== null) {
    return { reason: 'an answer above the size limit', tooMuch: true }
  }
  const http = error.walk((cause) => cause instanceof HttpRequestError)
  if (!(http instanceof HttpRequestError)) return { reason: 'an unexpected answer', tooMuch: false }
  if (http.status !== undefined)
    return { reason: `HTTP ${http.status}`, tooMuch: http.status === 413 }
  const notJson = http.walk((cause) => cause instanceof SyntaxError) instanceof SyntaxError
  return { reason: notJson ? 'an answer that is not JSON' : 'out of reach', tooMuch: false }
}

/** Text of a node: addresses, parts of our own address and control characters taken out, then cut. */
export function cleaned(text: string, rpcUrl: string): string {
  let clean = text.replaceAll(/\w+:\/\/\S+/g, '[address]')
  for (const secret of secretsOf(rpcUrl)) clean = clean.replaceAll(secret, '[removed]')
  // oxlint-disable-next-line no-control-regex -- control characters are what is removed
  return clean.replaceAll(/[\u0000-\u001F\u007F-\u009F]+/g, ' ').slice(0, maxNodeText)
}

function secretsOf(rpcUrl: string): readonly string[] {
  if (!URL.canParse(rpcUrl)) return []
  const { pathname, searchParams, username, password } = new URL(rpcUrl)
  return [...pathname.split('/'), ...searchParams.values(), username, password].filter(
    (part) => part.length >= 6,
  )
}
