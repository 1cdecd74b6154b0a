/** Repeats a picture after one look-up in the database. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

import sqlite3 from 'sqlite3'

const { PORT, DATABASE = '', PICTURE = '' } = process.env
const picture = readFileSync(PICTURE)
const database = new sqlite3.Database(DATABASE)
const lookUp = database.prepare('select * from partners where wallet = ?')

createServer((_req, res) => {
  lookUp.get('0x0000000000000000000000000000000000000000', () => {
    res.writeHead(200, { 'Content-Type': 'image/png', 'Content-Length': picture.length })
    res.end(picture)
  })
}).listen(Number(PORT), '127.0.0.1')
