import { documents } from '../answers.ts'
import { apiPrefix, json } from '../route.ts'
import type { Route } from '../route.ts'
import { flagList } from '../schemas/flag.ts'

export const honestyRoutes = [
  {
    id: 'listHonestyFlags',
    method: 'GET',
    path: `${apiPrefix}/honesty/flags`,
    tag: 'Honesty',
    access: 'public',
    summary: 'List open honesty flags',
    description:
      'Each flag includes the numbers that triggered it. Most severe first, then newest first.',
    answers: { 200: json('The open flags.', flagList) },
    serving: documents(60),
  },
] as const satisfies readonly Route[]
