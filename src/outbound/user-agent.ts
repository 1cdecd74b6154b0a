import { version } from '../contract/version.ts'

/** Who calls, for whoever is called: a name, a version, a page to read about it. */
export function outboundUserAgent(siteUrl: string): string {
  return `agent-income-ledger/${version} (+${siteUrl})`
}
