import { z } from 'zod'

import { documents } from '../answers.ts'
import { json, text } from '../route.ts'
import type { Route } from '../route.ts'
import { pactId } from '../schemas/pact.ts'

const params = {
  id: { schema: pactId, description: 'The `pact_id` of a pact in flight.', example: '16' },
} as const

/** The manifests of a pact, where `spec_uri`, `instance_uri` and `reproduce_uri` point. */
export const pactManifestRoutes = [
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
