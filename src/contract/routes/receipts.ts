import { z } from 'zod'

import { pageQuery, signedMessages, sinceParameter, walletParameter } from '../answers.ts'
import { apiPrefix, json, notFound, parameter, routesOf, text } from '../route.ts'
import { railSlug } from '../schemas/common.ts'
import { platformList } from '../schemas/platform.ts'
import { railChain } from '../schemas/rail.ts'
import {
  acceptedReceipt,
  receiptBody,
  receiptDetail,
  receiptId,
  receiptList,
  verification,
} from '../schemas/receipt.ts'

const { document, live, handler } = routesOf('Receipts')

const id = parameter(receiptId, '`rcp_` and the SHA-256 of the content.', `rcp_${'ab'.repeat(32)}`)

export const receiptRoutes = {
  listReceipts: document(60, {
    path: `${apiPrefix}/receipts`,
    summary: 'List receipts',
    description:
      'Newest first. Without a query: the document of the newest 50. With a query: a live answer.',
    query: {
      ...pageQuery('receipts'),
      rail: parameter(railSlug, 'Only receipts of this rail.', 'x402'),
      wallet: walletParameter('Only receipts of this worker.'),
      chain: parameter(railChain, 'Only receipts on this chain.', 'base'),
      status: parameter(verification, 'Only receipts with this `verification`.', 'verified'),
      since: sinceParameter('Only receipts accepted after this time.'),
      content: parameter(z.literal('true'), 'With the signed `content` of each.', 'true'),
    },
    answers: { 200: json('The receipts.', receiptList) },
  }),
  listPlatforms: document(300, {
    path: `${apiPrefix}/platforms`,
    summary: 'List the platforms that may issue receipts',
    description:
      'The registry: who may issue receipts for which rails, and the Ed25519 key in base64. A platform signs the canonical JSON (RFC 8785) of the receipt, or of the whole submission, with all signature fields set to `""`. Every key is an entry of the log.',
    answers: { 200: json('The platforms.', platformList) },
  }),
  getReceipt: live({
    path: `${apiPrefix}/receipts/{id}`,
    summary: 'Get a receipt',
    description: 'Live data, available as soon as the receipt is accepted.',
    params: { id },
    answers: { 200: json('The receipt.', receiptDetail), 404: notFound('unknown_receipt') },
  }),
  getReceiptProof: live({
    path: `${apiPrefix}/receipts/{id}/proof`,
    summary: 'Get the proof that a receipt is in the log',
    description:
      'c2sp.org/tlog-proof: the entry in base64 after `extra`, its index, the path to the root, and the newest checkpoint. Verify it with `agent-income-ledger receipt verify --log`, or as /verify shows.',
    params: { id },
    answers: {
      200: text('The proof.', 'text/plain; charset=utf-8'),
      404: notFound(
        'unknown_receipt',
        'No such receipt, or, with `Retry-After`, it is not in the log yet.',
      ),
    },
  }),
  submitReceipt: handler('POST', 'signed', {
    path: `${apiPrefix}/receipts`,
    summary: 'Submit a receipt',
    description: `The receipt is the body without \`wallet\`, \`timestamp\` and \`signature\`. Its ed25519 signature (\`platform_signature\` or \`worker_signature\`) covers the canonical JSON of the receipt, or of the whole body, with signature fields set to \`""\`. Its id is \`rcp_\` and the SHA-256 of the canonical JSON of the receipt with signature fields set to \`""\`: resubmitting a receipt creates no duplicate and returns 200. The submitting wallet signs \`${signedMessages.receipt}\`. Instead of a signature and an amount, the body may contain \`offer_receipt\` or \`proof_of_payment\`: see /docs/receipts. At most 200 receipts per worker that no platform issued and no chain has confirmed are accepted in 24 hours.`,
    signs: signedMessages.receipt,
    body: receiptBody,
    answers: {
      200: json('Accepted before.', acceptedReceipt),
      201: json('Accepted.', acceptedReceipt),
    },
  }),
}
