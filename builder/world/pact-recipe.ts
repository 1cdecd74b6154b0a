import { getPactCall, pactEscrow } from '../../src/core/pact/escrow.ts'

/** Index, from 1, of the work hash among the words of `getPact`; the status follows. */
const hashWord = 11

interface RecipeFor {
  readonly pactId: number
  readonly siteUrl: string
  readonly uris: {
    readonly spec_uri: string
    readonly instance_uri: string
    readonly reproduce_uri: string
  }
  readonly workHash: string | null
}

/** Text between backticks is a shell command, run in this order; `$RPC` is a node of Arbitrum One. */
export function recipeOf({ pactId, siteUrl, uris, workHash }: RecipeFor): string[] {
  const request = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'eth_call',
    params: [{ to: pactEscrow.address, data: getPactCall(pactId) }, 'latest'],
  })
  const expected =
    workHash === null
      ? 'There is no work hash to expect: the manifests are refused, and the script says why.'
      : `It prints ${workHash}.`
  return [
    `Fetch the specification: \`curl -fsS -o spec.json ${uris.spec_uri}\``,
    `Fetch the manifest: \`curl -fsS -o instance.json ${uris.instance_uri}\``,
    `Fetch the script and read it: \`curl -fsS -o reproduce.mjs ${uris.reproduce_uri}\``,
    `Compute the work hash (Node 20 or newer): \`node reproduce.mjs instance.json spec.json\` ${expected}`,
    `Ask a node of your own choice what the escrow keeps: \`curl -fsS -H 'content-type: application/json' -d '${request}' "$RPC"\``,
    `In its answer each 64 digits are a word. Word ${hashWord} is the work hash, zeros before work is submitted; word ${hashWord + 1} is the status: 0 Active, 1 WorkSubmitted, 2 Completed, 3 Disputed, 4 Refunded, 5 Arbitrated. A hash that is there equals the one above.`,
    `Or all of it at once: \`agent-income-ledger pact verify ${pactId} --ledger ${siteUrl} --rpc "$RPC"\``,
  ]
}
