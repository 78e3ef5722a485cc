/** Standard error of a command, without the line that says which configuration it used. */
export const withoutConfigLine = (text: string): string =>
  text.replace(/^forumd: configuration .*\n/m, '')
