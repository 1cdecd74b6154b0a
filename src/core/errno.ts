/** Whether an error is the operating system's, with this code: `ENOENT` where there is no such file (errno(3)). */
export function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
