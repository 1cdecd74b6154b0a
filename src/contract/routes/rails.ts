import { documents } from '../answers.ts'
import { apiPrefix, json, text } from '../route.ts'
import type { Parameter, Route } from '../route.ts'
import { railSlug } from '../schemas/common.ts'
import { opportunityList } from '../schemas/opportunity.ts'
import { rail, railHistory, railList } from '../schemas/rail.ts'

const csv = 'text/csv; charset=utf-8; header=present'

const railName = {
  schema: railSlug,
  description: 'The `rail` value of a rail snapshot.',
  example: 'x402',
} as const satisfies Parameter

/** The rails, what was polled of them, and which of them pay. */
export const railRoutes = [
  {
    id: 'listRails',
    method: 'GET',
    path: `${apiPrefix}/rails`,
    tag: 'Rails',
    access: 'public',
    summary: 'All rails with their latest figures',
    description:
      'A figure that nobody could read stands as 0 and is named in `unknown_figures`. `poll_error` says that the last poll failed and the figures are carried over from `figures_as_of`.',
    answers: { 200: json('All rails, by slug.', railList) },
    serving: documents(60),
  },
  {
    id: 'getRailsCsv',
    method: 'GET',
    path: `${apiPrefix}/rails.csv`,
    tag: 'Rails',
    access: 'public',
    summary: 'All rails as CSV',
    description: 'RFC 4180 with a header row. An unknown figure is an empty cell.',
    answers: { 200: text('All rails.', csv) },
    serving: documents(60),
  },
  {
    id: 'getRail',
    method: 'GET',
    path: `${apiPrefix}/rails/{name}`,
    tag: 'Rails',
    access: 'public',
    summary: 'One rail',
    description: 'The rail snapshot itself, without an envelope.',
    params: { name: railName },
    answers: { 200: json('The rail.', rail), 404: { description: 'No such rail.' } },
    serving: documents(60),
  },
  {
    id: 'getRailHistory',
    method: 'GET',
    path: `${apiPrefix}/rails/{name}/history`,
    tag: 'Rails',
    access: 'public',
    summary: 'Every poll of one rail',
    description: 'Newest first, failed polls included. Null means that the figure was unknown.',
    params: { name: railName },
    answers: { 200: json('The polls.', railHistory), 404: { description: 'No such rail.' } },
    serving: documents(60),
  },
  {
    id: 'getRailHistoryCsv',
    method: 'GET',
    path: `${apiPrefix}/rails/{name}/history.csv`,
    tag: 'Rails',
    access: 'public',
    summary: 'Every poll of one rail as CSV',
    description: 'The same rows as the JSON form. An unknown figure is an empty cell.',
    params: { name: railName },
    answers: { 200: text('The polls.', csv), 404: { description: 'No such rail.' } },
    serving: documents(60),
  },
  {
    id: 'listOpportunities',
    method: 'GET',
    path: `${apiPrefix}/opportunities`,
    tag: 'Rails',
    access: 'public',
    summary: 'Rails that pay now',
    description:
      'Rails with status `paying`, the best expected income first, each with its caveats.',
    answers: { 200: json('The rails paying now.', opportunityList) },
    serving: documents(60),
  },
] as const satisfies readonly Route[]
