/** Sends the requests of each message, and replies with their statuses. */
import { askPipelined, askToTheLimit } from './clients.ts'

type Order = readonly [kind: 'paced' | 'pipelined', ...Parameters<typeof askToTheLimit>]

process.on('message', ([kind, address, requests, options]: Order) => {
  const sent =
    kind === 'pipelined'
      ? askPipelined(address, requests, options)
      : askToTheLimit(address, requests, options).then((all) => all.map(({ status }) => status))
  void sent.then((statuses) => process.send?.(statuses))
})
process.on('disconnect', () => process.exit(0))
