import { z } from 'zod'

import { markdown } from '../answers.ts'
import { apiPrefix, healthPath, json, parameter, routesOf, text } from '../route.ts'
import { exportFileName, exportList } from '../schemas/export.ts'
import { apiIndex, health, signingKeys, snapshotManifest } from '../schemas/service.ts'
import { x402Discovery } from '../schemas/x402.ts'

const { document, live } = routesOf('Service')

export const healthRoutes = {
  getHealth: live({
    path: healthPath,
    summary: 'Get the state of the service and its jobs',
    description:
      'Returns 503 if the database is not writable. `jobs` shows the last run and outcome of each scheduled job.',
    answers: {
      200: json('The service can accept writes.', health),
      503: json('The database is not writable; published documents are still served.', health),
    },
  }),
}

export const selfRoutes = {
  getIndex: document(300, {
    path: apiPrefix,
    summary: 'List all requests',
    description: 'Every method and path with its access and price.',
    answers: { 200: json('The requests.', apiIndex) },
  }),
  getOpenApi: document(300, {
    path: '/openapi.json',
    summary: 'Get the OpenAPI description',
    description: 'OpenAPI 3.0.3.',
    answers: { 200: json('The OpenAPI document.', z.looseObject({ openapi: z.string() })) },
  }),
  getSigningKeys: document(3600, {
    path: '/.well-known/signing-keys.json',
    summary: 'List the public keys of the service',
    description:
      'Ed25519 keys by `kid`. The header `X-Signature-Key` of a document contains the `kid`; `X-Signature` contains the signature over the bytes of the body.',
    answers: { 200: json('The keys.', signingKeys) },
  }),
  getDidDocument: document(3600, {
    path: '/.well-known/did.json',
    summary: 'Get the DID document',
    description:
      'The key of the service for verifiers of x402 receipts (`did:web`). `PAYMENT-RESPONSE` of a sold read contains such a receipt: a JWS with EdDSA, whose `kid` is in this document.',
    answers: { 200: json('The DID document.', z.looseObject({ id: z.string() })) },
  }),
  getBotKeys: live({
    path: '/.well-known/http-message-signatures-directory',
    summary: 'List the key that signs our requests to rails',
    description:
      'A JSON Web Key Set for Web Bot Auth, signed with its key (RFC 9421). Polls of rails over HTTP have the headers `Signature-Agent`, `Signature-Input` and `Signature`.',
    answers: { 200: text('The key.', 'application/http-message-signatures-directory+json') },
  }),
  getX402Discovery: document(300, {
    path: '/.well-known/x402',
    summary: 'List paid requests and how to pay for them',
    description:
      'Prices, tiers that include each request and, if payment is available, the payment terms in both versions of x402. `items` has schemas of parameters and answers, with an example. `payable` shows whether payment is available.',
    answers: { 200: json('The offers.', x402Discovery) },
  }),
  getX402Manifest: live({
    path: '/.well-known/x402.json',
    summary: 'List paid requests at the address that catalogues read',
    description: 'The same as `/.well-known/x402`, without signature.',
    answers: { 200: json('The offers.', x402Discovery) },
  }),
  getSnapshotManifest: document(60, {
    path: '/snapshot.json',
    summary: 'Get the signed manifest',
    description: 'Lists every published document with its SHA-256, size, time and signature.',
    answers: { 200: json('The manifest.', snapshotManifest) },
  }),
  getLatestDiff: document(60, {
    path: '/diffs/latest.md',
    summary: 'Get the changes of the last build',
    description: 'Changed facts as Markdown.',
    answers: { 200: text('The changes.', markdown) },
  }),
  getExport: document(300, {
    path: '/export.json',
    summary: 'List the files with all public data',
    description:
      'Size and SHA-256 of `/export/ledger.sqlite` and of each table as CSV. They are written once a day.',
    answers: { 200: json('The files.', exportList) },
  }),
  getExportFile: live({
    path: '/export/{file}',
    summary: 'Download all public data, or one table',
    description:
      '`ledger.sqlite` has all tables, the table `about`, and the table `columns` with the meaning of each column; `<table>.csv` has one table (RFC 4180 with a header row). Unknown is NULL, or an empty cell. Compare the SHA-256 with `/export.json`, which is signed.',
    params: { file: parameter(exportFileName, 'Name of the file.', 'ledger.sqlite') },
    answers: {
      200: { ...text('The file.', 'application/vnd.sqlite3'), otherTypes: ['text/csv'] },
      404: { description: 'No such file, at least not yet.' },
    },
  }),
}
