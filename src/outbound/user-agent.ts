import { version } from '../contract/version.ts'

/** `agent-income-ledger/0.1.0 (+https://ledger.example)`. */
export function outboundUserAgent(siteUrl: string): string {
  return `agent-income-ledger/${version} (+${siteUrl})`
}
