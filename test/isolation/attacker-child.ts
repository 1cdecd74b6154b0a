/** Sends the requests of each message to the limit, and replies with their statuses. */
import { askToTheLimit } from './clients.ts'

type Order = Parameters<typeof askToTheLimit>

process.on('message', ([address, requests, options]: Order) => {
  void askToTheLimit(address, requests, options).then((answers) =>
    process.send?.(answers.map(({ status }) => status)),
  )
})
process.on('disconnect', () => process.exit(0))
