import { created, pageQuery, signedMessages } from '../answers.ts'
import { apiPrefix, json, notFound, parameter, routesOf } from '../route.ts'
import { railSlug, text } from '../schemas/common.ts'
import { disputeId, disputeState } from '../schemas/dispute-state.ts'
import { dispute, disputeBody, disputeList, withdrawalBody } from '../schemas/dispute.ts'

const { document, live, handler } = routesOf('Disputes')

const params = { id: parameter(disputeId, 'Id of the dispute.', `dsp_${'ab'.repeat(12)}`) }

export const disputeRoutes = {
  listDisputes: document(60, {
    path: `${apiPrefix}/disputes`,
    summary: 'List disputes',
    description:
      'Claims that a published figure, flag or receipt is wrong, with the answers of the operator; those of subjects and upheld ones first, then the newest. Without a query: the document of the first 50. With a query: a live answer.',
    query: {
      ...pageQuery('disputes'),
      status: parameter(disputeState, 'Only disputes in this state.', 'open'),
      rail: parameter(railSlug, 'Only disputes about this rail.', 'x402'),
      target: parameter(
        text(80).regex(/^(flg|rcp)_[0-9a-f]{1,64}$/, 'must be the id of a flag or receipt'),
        'Only disputes about the flag or receipt with this id.',
        `flg_${'0a'.repeat(9)}`,
      ),
    },
    answers: { 200: json('The disputes.', disputeList) },
  }),
  getDispute: live({
    path: `${apiPrefix}/disputes/{id}`,
    summary: 'Get a dispute',
    description: 'Live data, available as soon as the dispute is opened.',
    params,
    answers: { 200: json('The dispute.', dispute), 404: notFound('unknown_dispute') },
  }),
  openDispute: handler('POST', 'signed', {
    path: `${apiPrefix}/disputes`,
    summary: 'Dispute a figure, a flag or a receipt',
    description: `The wallet signs \`${signedMessages.dispute}\`. The claim is published with its author, and each step is an entry of the log. A document is named by its path and the SHA-256 of its bytes, which \`snapshot.json\` lists; \`target_is_current\` is false if the hash is another one, which is not known to have been published. Returns 422 if the path, the flag or the receipt does not exist, 409 while the wallet has another dispute about it. At most 5 disputes a day per wallet and 20 per network.`,
    signs: signedMessages.dispute,
    body: disputeBody,
    answers: created('The dispute was opened.', dispute),
  }),
  withdrawDispute: handler('POST', 'signed', {
    path: `${apiPrefix}/disputes/{id}/withdraw`,
    summary: 'Withdraw a dispute',
    description:
      'Signed like the dispute, by the wallet that opened it. Returns 409 after the decision.',
    params,
    signs: signedMessages.dispute,
    body: withdrawalBody,
    answers: {
      200: json('The dispute is withdrawn.', dispute),
      404: notFound('unknown_dispute'),
    },
  }),
}
