import { getPactCall, pactEscrow } from '../../src/core/pact/escrow.ts'

/** Index, from 1, of the work hash among the words of `getPact`; the status follows. */
const hashWord = 11

export function manifestUris(siteUrl: string, pactId: number) {
  const at = `${siteUrl}/pacts/${pactId}`
  return {
    spec_uri: `${at}/spec.json`,
    instance_uri: `${at}/instance.json`,
    reproduce_uri: `${at}/reproduce.mjs`,
  }
}

/** Text between backticks is a shell command, run in this order; `$RPC` is a node of Arbitrum One. */
export function recipeOf(siteUrl: string, pactId: number, workHash: string | null): string[] {
  const uris = manifestUris(siteUrl, pactId)
  const request = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'eth_call',
    params: [{ to: pactEscrow.address, data: getPactCall(pactId) }, 'latest'],
  })
  const expected =
    workHash === null
      ? 'There is no expected work hash, since the manifests are refused; the script prints the reason.'
      : `It prints ${workHash}.`
  return [
    `Fetch the specification: \`curl -fsS -o spec.json ${uris.spec_uri}\``,
    `Fetch the manifest: \`curl -fsS -o instance.json ${uris.instance_uri}\``,
    `Fetch the script and read it: \`curl -fsS -o reproduce.mjs ${uris.reproduce_uri}\``,
    `Compute the work hash (Node 20 or newer): \`node reproduce.mjs instance.json spec.json\` ${expected}`,
    `Read the state of the escrow from a node of your choice: \`curl -fsS -H 'content-type: application/json' -d '${request}' "$RPC"\``,
    `In the answer, each group of 64 digits is a word. Word ${hashWord} is the work hash, zeros before work is submitted; word ${hashWord + 1} is the status: 0 Active, 1 WorkSubmitted, 2 Completed, 3 Disputed, 4 Refunded, 5 Arbitrated. A work hash other than zeros must equal the one above.`,
    `To do all of this at once: \`agent-income-ledger pact verify ${pactId} --ledger ${siteUrl} --rpc "$RPC"\``,
  ]
}
