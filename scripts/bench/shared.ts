/** What is made once in a run and used by several suites. */
import type { Shared } from './suite.ts'

export function sharing(newDir: (name: string) => string): Shared {
  const made = new Map<string, Promise<string>>()
  const fill = async (name: string, make: (dir: string) => Promise<void>): Promise<string> => {
    const dir = newDir(name)
    await make(dir)
    return dir
  }
  return (name, make) => {
    const known = made.get(name) ?? fill(name, make)
    made.set(name, known)
    return known
  }
}
