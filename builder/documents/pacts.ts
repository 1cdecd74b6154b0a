import { microPerUsdc, toUsdc } from '../../src/core/money.ts'
import { pactEscrow } from '../../src/core/pact/escrow.ts'
import { parseStrictJsonText } from '../../src/core/strict-json.ts'
import type { PublicDocument } from '../publish/document.ts'
import { manifestUris } from '../world/pact-recipe.ts'
import type { World } from '../world/world.ts'
import { jsonDocument, snapshotFamily, textDocument } from './document.ts'

/** `/pacts`, one document per pact, and the manifests that the ledger holds. */
export const pactDocuments = snapshotFamily(['pacts', 'site'], function* ({ pacts, site }) {
  const { settled, inFlight, recorded } = pacts
  const settledMicroUsdc = settled.reduce(
    (sum, pact) => sum + Math.round(pact.amount_usdc * microPerUsdc),
    0,
  )
  const settledTimes = settled.map((pact) => pact.settled_at).toSorted()
  const summary = {
    settled_count: settled.length,
    in_flight_count: inFlight.length,
    recorded_count: recorded.length,
    settled_usdc: toUsdc(settledMicroUsdc),
    last_settled_at: settledTimes.at(-1) ?? null,
  }
  const lists = { settled, in_flight: inFlight, recorded, summary }
  const list = { ...lists, doc_uri: `${site.url}/pacts/SKILL.md` }
  yield jsonDocument('listPacts', list, { stamped: true })
  for (const pact of [...settled, ...inFlight, ...recorded]) {
    yield jsonDocument('getPact', pact, { params: { id: pact.pact_id } })
  }
  for (const held of pacts.manifests) yield* manifestDocuments(held, pacts, site)
})

/** Yields the manifests byte for byte, and the script for this pact. Missing files are not served. */
function* manifestDocuments(
  { pactId, specText, instanceText }: World['pacts']['manifests'][number],
  { reproduceScript }: World['pacts'],
  site: World['site'],
): Generator<PublicDocument> {
  const params = { id: String(pactId) }
  const archived = { params, archived: true }
  if (specText !== null) yield textDocument('getPactSpec', specText, archived)
  if (instanceText !== null) yield textDocument('getPactInstance', instanceText, archived)
  if (specText === null || reproduceScript === null) return
  const pact = {
    pact_id: pactId,
    chain_id: pactEscrow.chainId,
    contract_address: pactEscrow.address,
    instance_uri: manifestUris(site.url, pactId).instance_uri,
    spec: parseStrictJsonText(specText),
  }
  const script = reproduceScript.replace("'@PACT@'", () => JSON.stringify(pact, null, 2))
  yield textDocument('getPactReproduce', script, archived)
}
