import { version } from '../contract/version.ts'

export function outboundUserAgent(siteUrl: string): string {
  return `agent-income-ledger/${version} (+${siteUrl})`
}
