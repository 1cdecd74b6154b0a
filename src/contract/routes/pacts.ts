import { z } from 'zod'

import { documents } from '../answers.ts'
import { apiPrefix, json, text } from '../route.ts'
import type { Route } from '../route.ts'
import { inFlightPact, pactId, pactList, recordedPact, settledPact } from '../schemas/pact.ts'

const params = {
  id: { schema: pactId, description: 'The `pact_id` of a pact in flight.', example: '16' },
} as const

/** Pacts, and their manifests where `spec_uri`, `instance_uri` and `reproduce_uri` point. */
export const pactRoutes = [
  {
    id: 'listPacts',
    method: 'GET',
    path: `${apiPrefix}/pacts`,
    tag: 'Pacts',
    access: 'public',
    summary: 'Settled and in-flight settlements',
    description:
      'Each settled pact once, with its explorer address and verified receipt. `recorded` holds what others published about pacts, with its source and whether a node bears it out; none of it counts as settled here.',
    answers: { 200: json('The pacts.', pactList) },
    serving: documents(60),
  },
  {
    id: 'getPact',
    method: 'GET',
    path: `${apiPrefix}/pacts/{id}`,
    tag: 'Pacts',
    access: 'public',
    summary: 'One pact',
    description:
      'Settled, in flight or only recorded, told apart by `state`. Only a settled one shows a payment.',
    params: { id: { schema: pactId, description: 'The `pact_id`.', example: '12' } },
    answers: {
      200: json(
        'The pact.',
        z.discriminatedUnion('state', [settledPact, inFlightPact, recordedPact]),
      ),
      404: { description: 'In none of the three groups.' },
    },
    serving: documents(60),
  },
  {
    id: 'getPactSpec',
    method: 'GET',
    path: '/pacts/{id}/spec.json',
    tag: 'Pacts',
    access: 'public',
    summary: 'The manifest specification of a pact',
    description:
      'Names every field that counts towards the work hash, the chain, the contract and the deadline.',
    params,
    answers: {
      200: json('The specification.', z.looseObject({})),
      404: { description: 'The ledger holds no manifest of this pact.' },
    },
    serving: documents(60),
  },
  {
    id: 'getPactInstance',
    method: 'GET',
    path: '/pacts/{id}/instance.json',
    tag: 'Pacts',
    access: 'public',
    summary: 'The manifest of a pact',
    description:
      'The bytes as the parties made them. Fields that the specification does not name are stripped before hashing.',
    params,
    answers: {
      200: json('The manifest.', z.looseObject({})),
      404: { description: 'The ledger holds no manifest of this pact.' },
    },
    serving: documents(60),
  },
  {
    id: 'getPactReproduce',
    method: 'GET',
    path: '/pacts/{id}/reproduce.mjs',
    tag: 'Pacts',
    access: 'public',
    summary: 'The script that reproduces the work hash',
    description:
      'For Node 20 or newer, without dependencies: `node reproduce.mjs [instance] [spec]`, files or URLs, prints the hash; the exit code is 1 where the manifest is to be refused.',
    params,
    answers: {
      200: text('The script.', 'text/javascript; charset=utf-8'),
      404: { description: 'The ledger holds no manifest of this pact.' },
    },
    serving: documents(60),
  },
] as const satisfies readonly Route[]
