import { routeOf } from '../../src/contract/routes.ts'
import { fieldsOf } from './api-fields.ts'
import { requiredOption } from './command.ts'
import type { Command } from './command.ts'
import { httpUrl } from './verify.ts'

const filters = fieldsOf(routeOf('getAlertFeed')).filter(({ name }) => name !== 'limit')

export const alertsListen: Command = {
  words: 'alerts listen',
  summary: 'Forward alerts to a webhook in development',
  description:
    'Polls the feed as the partner, and posts the challenge and then each new event to --forward, signed like the deliveries of\na subscription, but without retries. Prints the result of each, until Ctrl-C.\nSigns with a new secret, which it prints, or with LEDGER_WEBHOOK_SECRET.',
  args: {
    forward: requiredOption(
      'url',
      'address of your webhook, such as http://localhost:3000/hook',
      httpUrl,
    ),
    ...Object.fromEntries(filters.map((field) => [field.argument, field])),
  },
  groups: ['key', 'ledger'],
  run: async (session, input) =>
    await (await import('./forward-alerts.ts')).forwardAlerts(session, input),
}
