/** The shipped firewall rules, loaded by the real nft into a new network namespace. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { CONNECTIONS_PER_HOST } from '../../src/http/connections.ts'
import { packageRoot } from '../../src/runtime/runtime.ts'
import { isRunnable } from '../support/runnable.ts'

const rules = join(packageRoot, 'scripts/deploy/nftables.conf')

/** Opens connections to port 80 one by one and prints how many of the first address and of a second one were accepted. */
const client = `
const { connect, createServer } = require('node:net')
const open = (localAddress) => new Promise((resolve) => {
  const socket = connect({ port: 80, host: '127.0.0.1', localAddress })
  socket.once('connect', () => resolve(1))
  socket.once('error', () => resolve(0))
})
createServer(() => undefined).listen(80, '0.0.0.0', async () => {
  let accepted = 0
  for (let at = 0; at < ${CONNECTIONS_PER_HOST + 12}; at += 1) accepted += await open('127.0.0.2')
  process.stdout.write(JSON.stringify([accepted, await open('127.0.0.3')]))
  process.exit()
})`

test.skipIf(!isRunnable('nft') || !isRunnable('unshare'))(
  'the firewall rules accept 128 connections of one address and do not limit its neighbour',
  () => {
    const setUp = `ip link set lo up && nft -f '${rules}' && exec '${process.execPath}' -e "$CLIENT"`
    const env = { ...process.env, CLIENT: client }
    const run = spawnSync('unshare', ['-rn', 'sh', '-c', setUp], { env, encoding: 'utf8' })
    expect([run.stderr, run.stdout]).toEqual(['', JSON.stringify([CONNECTIONS_PER_HOST, 1])])
  },
)
