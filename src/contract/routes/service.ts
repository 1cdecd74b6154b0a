import { z } from 'zod'

import { documents, markdown } from '../answers.ts'
import { healthPath, json, text } from '../route.ts'
import type { Route } from '../route.ts'
import { health, signingKeys, snapshotManifest } from '../schemas/service.ts'
import { x402Discovery } from '../schemas/x402.ts'

export const healthRoutes = [
  {
    id: 'getHealth',
    method: 'GET',
    path: healthPath,
    tag: 'Service',
    access: 'public',
    summary: 'Get the state of the service and its jobs',
    description:
      'Returns 503 if the database is not writable. `jobs` shows the last run and outcome of each scheduled job.',
    answers: {
      200: json('The service can accept writes.', health),
      503: json('The database is not writable; published documents are still served.', health),
    },
    serving: { kind: 'handler', cache: 'no-store' },
  },
] as const satisfies readonly Route[]

export const selfRoutes = [
  {
    id: 'getOpenApi',
    method: 'GET',
    path: '/openapi.json',
    tag: 'Service',
    access: 'public',
    summary: 'Get the OpenAPI description',
    description: 'OpenAPI 3.0.3.',
    answers: { 200: json('The OpenAPI document.', z.looseObject({ openapi: z.string() })) },
    serving: documents(300),
  },
  {
    id: 'getSigningKeys',
    method: 'GET',
    path: '/.well-known/signing-keys.json',
    tag: 'Service',
    access: 'public',
    summary: 'List the public keys of the service',
    description:
      'Ed25519 keys by `kid`. `X-Signature-Key` of a document names its key, `X-Signature` is the signature over the bytes of the body.',
    answers: { 200: json('The keys.', signingKeys) },
    serving: documents(3600),
  },
  {
    id: 'getX402Discovery',
    method: 'GET',
    path: '/.well-known/x402',
    tag: 'Service',
    access: 'public',
    summary: 'List paid requests and how to pay for them',
    description:
      'Prices, tiers that include each request and, if payment is available, the payment terms in both versions of x402. `payable` shows whether payment is available.',
    answers: { 200: json('The offers.', x402Discovery) },
    serving: documents(300),
  },
  {
    id: 'getSnapshotManifest',
    method: 'GET',
    path: '/snapshot.json',
    tag: 'Service',
    access: 'public',
    summary: 'Get the signed manifest',
    description: 'Lists every published document with its SHA-256, size, time and signature.',
    answers: { 200: json('The manifest.', snapshotManifest) },
    serving: documents(60),
  },
  {
    id: 'getLatestDiff',
    method: 'GET',
    path: '/diffs/latest.md',
    tag: 'Service',
    access: 'public',
    summary: 'Get the changes of the last build',
    description: 'Changed facts as Markdown.',
    answers: { 200: text('The changes.', markdown) },
    serving: documents(60),
  },
] as const satisfies readonly Route[]
