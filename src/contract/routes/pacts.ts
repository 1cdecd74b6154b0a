import { z } from 'zod'

import { apiPrefix, json, notFound, parameter, routesOf, text } from '../route.ts'
import { inFlightPact, pactId, pactList, recordedPact, settledPact } from '../schemas/pact.ts'

const { document } = routesOf('Pacts')

const params = {
  id: parameter(pactId, 'The `pact_id` of a pact in flight.', '16'),
} as const
const noManifest = { description: 'The ledger has no manifest for this pact.' }

export const pactRoutes = {
  listPacts: document(60, {
    path: `${apiPrefix}/pacts`,
    summary: 'List pacts',
    description:
      '`settled` lists each settled pact once, with its explorer address and verified receipt. `recorded` lists pacts that others have published, with their source and whether a node confirms them; these do not count as settled.',
    answers: { 200: json('The pacts.', pactList) },
  }),
  getPact: document(60, {
    path: `${apiPrefix}/pacts/{id}`,
    summary: 'Get a pact',
    description:
      '`state` is `settled`, `in_flight` or `recorded`. Only a settled pact proves a payment.',
    params: { id: parameter(pactId, 'The `pact_id`.', '12') },
    answers: {
      200: json(
        'The pact.',
        z.discriminatedUnion('state', [settledPact, inFlightPact, recordedPact]),
      ),
      404: notFound('unknown_pact'),
    },
  }),
  getPactSpec: document(60, {
    path: '/pacts/{id}/spec.json',
    summary: 'Get the manifest specification of a pact',
    description:
      'Names the fields covered by the work hash, the chain, the contract and the deadline.',
    params,
    answers: {
      200: json('The specification.', z.looseObject({})),
      404: noManifest,
    },
  }),
  getPactInstance: document(60, {
    path: '/pacts/{id}/instance.json',
    summary: 'Get the manifest of a pact',
    description:
      'The original bytes from the parties. Fields that the specification does not name are removed before hashing.',
    params,
    answers: {
      200: json('The manifest.', z.looseObject({})),
      404: noManifest,
    },
  }),
  getPactReproduce: document(60, {
    path: '/pacts/{id}/reproduce.mjs',
    summary: 'Get the script that reproduces the work hash',
    description:
      'The script needs Node 20 or newer and has no dependencies. `node reproduce.mjs [instance] [spec]`, with files or URLs, prints the hash and exits with 1 if the manifest is invalid.',
    params,
    answers: {
      200: text('The script.', 'text/javascript; charset=utf-8'),
      404: noManifest,
    },
  }),
}
