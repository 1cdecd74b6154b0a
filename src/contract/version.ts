/** As in package.json and the change log; a test holds them together. */
export const version = '0.1.0'
