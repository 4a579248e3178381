//! Random shell files: usual contents of settings files, and contents that should not be written.

use std::fmt::Write as _;

/// The variables that are compared.
pub const NAMES: [&str; 6] = ["A", "B", "C", "D", "LINE", "LINE_DEFAULT"];

/// A pseudorandom number generator with a seed.
pub struct Dice(pub u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }

    fn one<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    fn name(&mut self) -> &'static str {
        self.one(&NAMES)
    }

    fn plain(&mut self) -> &'static str {
        self.one(&[
            "quiet",
            "isolcpus=2-3",
            "a",
            "b",
            "x=1,2",
            "c#d",
            "e:f",
            "g.h",
            "-n",
            "%i",
            "j!",
            "k=",
            "é",
            "]",
            "{l,m}",
            "^",
        ])
    }

    fn inside(&mut self) -> String {
        let name = self.name();
        match self.below(12) {
            0 => format!("${name}"),
            1 => format!("${{{name}}}"),
            2 => self
                .one(&["\\\"q\\\"", "\\$x", "\\\\", "\\`", "\\n", "\\\n"])
                .to_owned(),
            3 => self
                .one(&[
                    "'", "#", ";", "&", "|", "(", ")", "~", "*", "$", "$ ", "=", "\n", "\t", "!",
                ])
                .to_owned(),
            4 => format!("${{{name}:-{}}}", self.plain()),
            5 => format!("${{{name}+x y}}"),
            _ => self.plain().to_owned(),
        }
    }

    fn double(&mut self) -> String {
        let count = self.below(4);
        let parts: Vec<String> = (0..count).map(|_| self.inside()).collect();
        let gap = self.one(&[" ", " ", ""]);
        format!("\"{}\"", parts.join(gap))
    }

    fn piece(&mut self) -> String {
        let name = self.name();
        match self.below(20) {
            0..=5 => self.double(),
            6..=9 => self.plain().to_owned(),
            10 => format!("'{} $A \"x\" \\ {}'", self.plain(), self.plain()),
            11 => self
                .one(&["\\ ", "\\$A", "\\\"", "\\'", "\\\\", "\\\n", "\\a", "\\#"])
                .to_owned(),
            12 => format!("${name}"),
            13 => format!("${{{name}}}"),
            14 => self
                .one(&[
                    "$(echo out)",
                    "`echo out`",
                    "$(echo \"a)\" ')')",
                    "`echo 2> /dev/null || echo b`",
                ])
                .to_owned(),
            15 => format!("${{{name}-{}}}", self.plain()),
            16 => format!("${{{name}:+{}}}", self.plain()),
            17 => self
                .one(&[
                    "''", "\"\"", "$", "*", "?", "[a]", "~", "a:~", "$?", "${#A}", "${A%x}", "$UNSET",
                ])
                .to_owned(),
            18 => self
                .one(&[
                    "$'x'", "$\"x\"", "${A:=z}", "$((1+1))", "${A/a/b}", "${!A}", "$[1]", "{", "}",
                ])
                .to_owned(),
            _ => "isolcpus=2-3".to_owned(),
        }
    }

    fn value(&mut self) -> String {
        match self.below(8) {
            0..=3 => self.double(),
            4 => String::new(),
            5 => self.piece(),
            _ => self.piece() + &self.piece(),
        }
    }

    /// An assignment.
    pub fn assignment(&mut self) -> String {
        let name = self.name();
        match self.below(14) {
            0 => format!("{name}+={}", self.value()),
            1..=3 => format!("{name}=\"${name} {}\"", self.plain()),
            4 => format!("export {name}={}", self.value()),
            5 => format!("{name}={} {}={}", self.value(), self.name(), self.value()),
            _ => format!("{name}={}", self.value()),
        }
    }

    fn condition(&mut self) -> String {
        let (name, plain) = (self.name(), self.plain());
        match self.below(18) {
            14..=17 => self.file_test(),
            0 => format!("[ \"${name}\" = {plain} ]"),
            1 => format!("[ \"${name}\" != \"{plain}\" ]"),
            2 => format!("[ -n \"${name}\" ]"),
            3 => format!("[ -z \"${name}\" ]"),
            4 => format!("test x\"${{{name}}}\" = x"),
            5 => format!("[ ${name} = {plain} ]"),
            6 => format!("! [ \"${name}\" = \"{plain}\" ]"),
            7 => format!("[ \"${name}\" == \"{plain}\" ]"),
            8 => self
                .one(&[
                    "[ -f /etc/passwd ]",
                    "[ -x /nowhere ]",
                    "command -v nothing",
                    "[ 1 -eq 1 ]",
                    "nothing -q",
                    "test",
                ])
                .to_owned(),
            9 => format!("[ \"${name}\" ]"),
            10 => format!("[ ! \"${name}\" = \"{plain}\" ]"),
            11 => format!("[ \"${name}\" = a ] || [ \"${name}\" = b ]"),
            _ => self.one(&["true", "false", ":", "! true"]).to_owned(),
        }
    }

    /// A test of a file that exists on every machine, or on none.
    fn file_test(&mut self) -> String {
        let operator = self.one(&["-d", "-e", "-f", "-r", "-s", "-x"]);
        let path = self.one(&[
            "/etc/passwd",
            "/etc",
            "/nowhere",
            "/etc/passwd/x",
            "\"/nowhere at all\"",
            "''",
            "/dev/null",
            "$UNSET",
            "\"$A\"",
        ]);
        match self.below(6) {
            0 => format!("test {operator} {path}"),
            1 => format!("! [ {operator} {path} ]"),
            2 => format!("[ ! {operator} {path} ]"),
            3 => format!("[ {operator} {path} ] && [ {operator} /etc ]"),
            4 => format!("[ {operator} = {path} ]"),
            _ => format!("[ {operator} {path} ]"),
        }
    }

    fn pattern(&mut self) -> String {
        match self.below(8) {
            0 => self.name().to_owned(),
            1 => "*".to_owned(),
            2 => "a*".to_owned(),
            3 => "*q?i*".to_owned(),
            4 => format!("\"${}\"", self.name()),
            5 => format!("{}|{}", self.plain(), self.plain()),
            6 => self.one(&["[a-z]*", "\\*", "\"*\"", "''", "$A", "?"]).to_owned(),
            _ => self.plain().to_owned(),
        }
    }

    fn statement(&mut self, depth: usize, others: &[String]) -> String {
        let most = if depth < 3 { 40 } else { 20 };
        match self.below(most) {
            0..=16 => self.assignment(),
            17 => format!("# {} \\", self.value().replace('\n', " ")),
            18 => format!("{} # it's \"one\"", self.assignment()),
            19 => format!("{};{}", self.assignment(), self.assignment()),
            20..=23 => self.if_statement(depth, others),
            24 | 25 => self.case_statement(depth, others),
            26..=28 => format!("{} && {}", self.condition(), self.assignment()),
            29 => format!("{} || {}", self.condition(), self.assignment()),
            30 | 31 => format!(". {}", self.one(&others.iter().map(String::as_str).collect::<Vec<_>>())),
            32 => format!(
                "source {}",
                self.one(&others.iter().map(String::as_str).collect::<Vec<_>>())
            ),
            33 => format!("unset {}", self.name()),
            34 => format!("export {}", self.name()),
            35 => self.unusual(),
            36 => format!("echo \"{}\"", self.plain()),
            37 => format!("\t  {}", self.assignment()),
            38 => format!("{} && {} || {}", self.condition(), self.assignment(), self.assignment()),
            _ => String::new(),
        }
    }

    fn if_statement(&mut self, depth: usize, others: &[String]) -> String {
        let mut text = format!("if {}", self.condition());
        let end = self.one(&["\n", "; ", " ;\n"]);
        write!(text, "{end}then\n{}\n:", self.statement(depth + 1, others)).unwrap();
        if self.below(3) == 0 {
            write!(
                text,
                "\nelif {}; then {}\n:",
                self.condition(),
                self.statement(depth + 1, others)
            )
            .unwrap();
        }
        if self.below(2) == 0 {
            write!(text, "\nelse {}\n:", self.assignment()).unwrap();
        }
        write!(text, "{end}fi").unwrap();
        match self.below(3) {
            0 => format!("if {}; then {}; fi", self.condition(), self.assignment()),
            _ => text,
        }
    }

    fn case_statement(&mut self, depth: usize, others: &[String]) -> String {
        let subject = format!("{}${}", self.one(&["", "x"]), self.name());
        let subject = self.one(&[&format!("\"{subject}\""), &subject]).to_owned();
        let open = self.one(&["", "("]);
        format!(
            "case {subject} in\n{open}{}) {} ;;\n {}) {}\n;;\n*) {};; esac",
            self.pattern(),
            self.statement(depth + 1, others),
            self.pattern(),
            self.assignment(),
            self.assignment()
        )
    }

    /// A statement that quietcore need not compute.
    fn unusual(&mut self) -> String {
        self.one(&[
            "for i in a b; do A=$i; done",
            "while false; do A=x; done",
            "f() { A=x; }\nf",
            "echo x | cat",
            "cat <<X\nA=x\nX",
            "eval A=x",
            "read A < /dev/null",
            "A=quiet splash",
            "( A=x )",
            "{ A=x; }",
            "set -- a b",
            "A=x &",
            "return",
            "alias B=:",
            "A=(a b)",
            "A[1]=x",
            "IFS=:",
            "printf -v A x",
            "local A=x",
            "exit 3",
            "readonly A",
            "nothing",
            "A=$(",
            "A='",
            "fi",
            ";",
            "A=x > /dev/null",
            "case $A in a) B=1 ;& b) C=2;; esac",
            ". ./main2",
            "[[ a == a ]] && A=x",
            "function f { A=x; }",
            "A=x B=$A",
        ])
        .to_owned()
    }

    /// A whole file, which may read the others.
    pub fn file(&mut self, others: &[String]) -> String {
        let count = 1 + self.below(7);
        let lines: Vec<String> = (0..count).map(|_| self.statement(0, others)).collect();
        lines.join("\n") + self.one(&["\n", "\n", ""])
    }
}
