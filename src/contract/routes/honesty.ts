import { documents } from '../answers.ts'
import { apiPrefix, json } from '../route.ts'
import type { Route } from '../route.ts'
import { flagList } from '../schemas/flag.ts'

/** What is doubted. */
export const honestyRoutes = [
  {
    id: 'listHonestyFlags',
    method: 'GET',
    path: `${apiPrefix}/honesty/flags`,
    tag: 'Honesty',
    access: 'public',
    summary: 'Open honesty flags',
    description: 'Each with the numbers that tripped it, the most severe first, then the newest.',
    answers: { 200: json('The open flags.', flagList) },
    serving: documents(60),
  },
] as const satisfies readonly Route[]
