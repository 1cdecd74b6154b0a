import { version } from '../contract/version.ts'

/** Name, version and a page about the caller. */
export function outboundUserAgent(siteUrl: string): string {
  return `agent-income-ledger/${version} (+${siteUrl})`
}
