import { z } from 'zod'

import { documents, markdown } from '../answers.ts'
import { healthPath, json, text } from '../route.ts'
import type { Route } from '../route.ts'
import { health, signingKeys, snapshotManifest } from '../schemas/service.ts'
import { x402Discovery } from '../schemas/x402.ts'

/** Whether the service is well. */
export const healthRoutes = [
  {
    id: 'getHealth',
    method: 'GET',
    path: healthPath,
    tag: 'Service',
    access: 'public',
    summary: 'State of the service and of its cron jobs',
    description:
      'Answers 503 when the database cannot be written. `jobs` holds the last run and outcome of each cron job.',
    answers: {
      200: json('The service can accept writes.', health),
      503: json('The database cannot be written; documents are still served.', health),
    },
    serving: { kind: 'handler', cache: 'no-store' },
  },
] as const satisfies readonly Route[]

/** What the service says of itself: its description, keys, prices and all that it has published. */
export const selfRoutes = [
  {
    id: 'getOpenApi',
    method: 'GET',
    path: '/openapi.json',
    tag: 'Service',
    access: 'public',
    summary: 'This description',
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
    summary: 'Public keys of the service',
    description:
      'Ed25519 keys by `kid`. `X-Signature-Key` of a document names the key, `X-Signature` holds the signature over the bytes of the body.',
    answers: { 200: json('The keys.', signingKeys) },
    serving: documents(3600),
  },
  {
    id: 'getX402Discovery',
    method: 'GET',
    path: '/.well-known/x402',
    tag: 'Service',
    access: 'public',
    summary: 'What is sold per request, and how it is paid',
    description:
      'Prices, covering tiers and, where payment is available here, what both versions of x402 accept. `payable` says whether anything can be paid for now.',
    answers: { 200: json('The offers.', x402Discovery) },
    serving: documents(300),
  },
  {
    id: 'getSnapshotManifest',
    method: 'GET',
    path: '/snapshot.json',
    tag: 'Service',
    access: 'public',
    summary: 'The signed manifest',
    description: 'Every published document with its SHA-256, size, time and signature.',
    answers: { 200: json('The manifest.', snapshotManifest) },
    serving: documents(60),
  },
  {
    id: 'getLatestDiff',
    method: 'GET',
    path: '/diffs/latest.md',
    tag: 'Service',
    access: 'public',
    summary: 'What the last build changed',
    description: 'The facts that moved, as Markdown.',
    answers: { 200: text('The difference.', markdown) },
    serving: documents(60),
  },
] as const satisfies readonly Route[]
