import type { Config } from '../config.ts'
import { apiPrefix } from '../contract/route.ts'
import { entriesOf } from '../core/entries.ts'

export function welcome(
  config: Config,
  address: { readonly host: string; readonly port: number },
): string {
  const host = address.host.includes(':') ? `[${address.host}]` : address.host
  const local = `http://${host}:${address.port}`
  const off = switchedOff(config)
  return [
    '',
    `  Agent Income Ledger is listening on ${local}`,
    '',
    `    the site         ${local}/`,
    `    for agents       ${local}/llms.txt`,
    `    try the API      ${local}/docs/try`,
    `    status           ${local}/status`,
    `    rails            ${local}${apiPrefix}/rails`,
    `    paying now       ${local}${apiPrefix}/opportunities`,
    `    doubts           ${local}${apiPrefix}/honesty/flags`,
    `    the desk         ${local}${apiPrefix}/desk/feed.json`,
    `    API description  ${local}/openapi.json`,
    `    health           ${local}${apiPrefix}/health`,
    '',
    ...(off.length === 0 ? [] : ['  Off or by default:', ...off.map((line) => `    ${line}`), '']),
    '',
  ].join('\n')
}

function switchedOff(config: Config): string[] {
  const chains = entriesOf(config).flatMap(([name, value]) =>
    name.startsWith('RPC_URL_') && value === null ? name.slice('RPC_URL_'.length) : [],
  )
  return [
    config.POLL === 'off'
      ? 'polling is off (POLL=off): figures stay as they were audited or last polled'
      : null,
    config.BUILDER === 'off'
      ? 'the builder is off (BUILDER=off): run it as a separate process'
      : null,
    config.LIMITS === 'off' ? 'rate limits are off (LIMITS=off)' : null,
    chains.length === 0 || config.POLL === 'off'
      ? null
      : `public RPC endpoints are used for ${chains.join(', ').toLowerCase()} (RPC_URL_<CHAIN>)`,
    config.SETTLEMENT === 'off'
      ? 'payment is off (SETTLEMENT=off): only partners can use premium reads, and paid tiers cannot be bought'
      : null,
    config.SNAPSHOT_GIT_REMOTE === null
      ? 'the snapshot repository is not pushed anywhere (SNAPSHOT_GIT_REMOTE)'
      : null,
  ].filter((line) => line !== null)
}
