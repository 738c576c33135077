package workspace

import (
	"bytes"
	"errors"
	"strings"
)

// variable is one assignment in a git configuration file. Its text is
// data[start:end], without the end of the line.
type variable struct {
	section    string // lower case, as "core"; a subsection as `remote "origin"`
	name       string // lower case
	value      string // quotes and escapes resolved
	start, end int
}

var errGitConfig = errors.New("it is not a valid git configuration file")

// parseGitConfig reads a configuration file as git does, but runs and includes
// nothing.
func parseGitConfig(data []byte) ([]variable, error) {
	p := configParser{data: data, at: len(data) - len(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))}
	for p.at < len(data) {
		switch c := data[p.at]; {
		case c == '#' || c == ';':
			p.at = p.lineEnd()
		case c == '[':
			if !p.header() {
				return nil, errGitConfig
			}
		case isLetter(c):
			if !p.variable() {
				return nil, errGitConfig
			}
		case isBlank(c) || c == '\n' || c == '\v' || c == '\f':
			p.at++
		default:
			return nil, errGitConfig
		}
	}
	return p.vars, nil
}

type configParser struct {
	data    []byte
	at      int
	section string
	vars    []variable
}

func (p *configParser) lineEnd() int {
	if n := bytes.IndexByte(p.data[p.at:], '\n'); n >= 0 {
		return p.at + n
	}
	return len(p.data)
}

// header reads [section], [section.sub] or [section "sub"].
func (p *configParser) header() bool {
	line := p.data[p.at+1 : p.lineEnd()]
	n := 0
	for n < len(line) && (isLetter(line[n]) || isDigit(line[n]) || line[n] == '-' || line[n] == '.') {
		n++
	}
	section := strings.ToLower(string(line[:n]))
	if n < len(line) && isBlank(line[n]) {
		for n < len(line) && isBlank(line[n]) {
			n++
		}
		start := n
		if n == len(line) || line[n] != '"' {
			return false
		}
		for n++; n < len(line) && line[n] != '"'; n++ {
			if line[n] == '\\' {
				n++
			}
		}
		n++
		if n > len(line) {
			return false
		}
		section += " " + string(line[start:n])
	}
	if n >= len(line) || line[n] != ']' {
		return false
	}
	p.section = section
	p.at += n + 2
	return true
}

// variable reads a name, and a value that may go on over several lines.
func (p *configParser) variable() bool {
	v := variable{section: p.section, start: p.at}
	for p.at < len(p.data) && (isLetter(p.data[p.at]) || isDigit(p.data[p.at]) || p.data[p.at] == '-') {
		p.at++
	}
	v.name = strings.ToLower(string(p.data[v.start:p.at]))
	for p.at < len(p.data) && isBlank(p.data[p.at]) {
		p.at++
	}
	v.value = "true"
	if p.at < len(p.data) && p.data[p.at] != '\n' {
		if p.data[p.at] != '=' {
			return false
		}
		p.at++
		var ok bool
		if v.value, ok = p.value(); !ok {
			return false
		}
	}
	v.end = p.at
	p.vars = append(p.vars, v)
	return p.section != ""
}

// value reads up to the end of the logical line.
func (p *configParser) value() (string, bool) {
	var out []byte
	quoted, length := false, 0 // length is out's without trailing blanks
	for ; p.at < len(p.data); p.at++ {
		c := p.data[p.at]
		switch {
		case c == '\n':
			return string(out[:length]), !quoted
		case c == '\r' && p.at+1 < len(p.data) && p.data[p.at+1] == '\n':
			continue
		case !quoted && (c == '#' || c == ';'):
			p.at = p.lineEnd()
			return string(out[:length]), true
		case !quoted && isBlank(c):
			if len(out) > 0 {
				out = append(out, c)
			}
			continue
		case c == '"':
			quoted = !quoted
			length = len(out)
			continue
		case c == '\\':
			p.at++
			if p.at < len(p.data) && p.data[p.at] == '\r' {
				p.at++
			}
			if p.at == len(p.data) {
				return "", false
			}
			if p.data[p.at] == '\n' {
				continue
			}
			i := strings.IndexByte(`tbn\"`, p.data[p.at])
			if i < 0 {
				return "", false
			}
			c = "\t\b\n\\\""[i]
		}
		out = append(out, c)
		length = len(out)
	}
	return string(out[:length]), !quoted
}

// lookup returns the last value of a variable, which is the one that counts.
func lookup(vars []variable, section, name string) (string, bool) {
	for i := len(vars) - 1; i >= 0; i-- {
		if vars[i].section == section && vars[i].name == name {
			return vars[i].value, true
		}
	}
	return "", false
}

// detach removes from a configuration file what ties it to another place:
// core.worktree, and core.bare, which is that of a repository without a
// checkout. Everything else stays byte for byte.
func detach(data []byte, vars []variable) []byte {
	var out []byte
	from := 0
	for _, v := range vars {
		if v.section == "core" && (v.name == "worktree" || v.name == "bare") {
			out = append(out, bytes.TrimRight(data[from:v.start], " \t")...)
			from = v.end
		}
	}
	return append(out, data[from:]...)
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isBlank(c byte) bool  { return c == ' ' || c == '\t' || c == '\r' }
