import { apiPrefix, json, routesOf } from '../route.ts'
import { flagList } from '../schemas/flag.ts'

const { document } = routesOf('Honesty')

export const honestyRoutes = {
  listHonestyFlags: document(60, {
    path: `${apiPrefix}/honesty/flags`,
    summary: 'List open honesty flags',
    description:
      'Each flag includes the numbers that triggered it. Most severe first, then newest first.',
    answers: { 200: json('The open flags.', flagList) },
  }),
}
