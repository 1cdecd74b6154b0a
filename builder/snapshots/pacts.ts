import { microPerUsdc, toUsdc } from '../../src/core/money.ts'
import { jsonDocument } from './document.ts'
import type { SnapshotFamily } from './document.ts'

/** `/pacts` and one document per pact, settled or in flight. */
export const pactDocuments: SnapshotFamily = {
  routes: ['listPacts', 'getPact'],
  *build({ pacts, site }) {
    const { settled, inFlight } = pacts
    const settledMicroUsdc = settled.reduce(
      (sum, pact) => sum + Math.round(pact.amount_usdc * microPerUsdc),
      0,
    )
    const settledTimes = settled.map((pact) => pact.settled_at).toSorted()
    yield jsonDocument(
      'listPacts',
      {
        settled,
        in_flight: inFlight,
        summary: {
          settled_count: settled.length,
          in_flight_count: inFlight.length,
          settled_usdc: toUsdc(settledMicroUsdc),
          last_settled_at: settledTimes.at(-1) ?? null,
        },
        doc_uri: `${site.url}/pacts/SKILL.md`,
      },
      { stamped: true },
    )
    for (const pact of [...settled, ...inFlight]) {
      yield jsonDocument('getPact', pact, { params: { id: pact.pact_id } })
    }
  },
}
